//! Containers as a manifest has them.

use serde_json::Value;

/// A container: what it runs, and with which variables.
pub(crate) struct Container(Value);

/// A Deployment of the manual.
pub(crate) struct Manifest(Value);

impl Manifest {
    pub(crate) fn read(text: &str) -> Self {
        Self(serde_yaml::from_str(text).expect("YAML"))
    }

    pub(crate) fn pod(&self) -> &Value {
        &self.0["spec"]["template"]["spec"]
    }

    pub(crate) fn replicas(&self) -> u64 {
        self.0["spec"]["replicas"].as_u64().expect("a number")
    }

    /// The first of this list: `containers` or `initContainers`.
    pub(crate) fn container(&self, list: &str) -> Container {
        Container(self.pod()[list][0].clone())
    }
}

impl Container {
    pub(crate) fn value(&self) -> &Value {
        &self.0
    }

    /// Returns its command, or the command of elect's image if it has none.
    pub(crate) fn words(&self) -> Vec<String> {
        let command = words(&self.0["command"]);
        let command = if command.is_empty() { vec!["elect".to_owned()] } else { command };
        command.into_iter().chain(words(&self.0["args"])).collect()
    }

    /// Its variables, in the pod of this name. Of a secret there is the key.
    pub(crate) fn variables(&self, pod: &str) -> Vec<(String, String)> {
        let all = self.0["env"].as_array().cloned().unwrap_or_default();
        let value = |variable: &Value| {
            let from = &variable["valueFrom"];
            match (variable["value"].as_str(), from["fieldRef"]["fieldPath"].as_str()) {
                (Some(value), _) => value.to_owned(),
                (None, Some("metadata.name")) => pod.to_owned(),
                (None, Some(other)) => panic!("{other} is not known here"),
                (None, None) => text(&from["secretKeyRef"]["key"]),
            }
        };
        all.iter().map(|variable| (text(&variable["name"]), value(variable))).collect()
    }

    pub(crate) fn user(&self) -> String {
        let context = &self.0["securityContext"];
        for (key, wanted) in [("runAsNonRoot", true), ("readOnlyRootFilesystem", true)] {
            assert_eq!(context[key], Value::from(wanted), "{key}");
        }
        context["runAsUser"].as_u64().expect("a number").to_string()
    }

    /// `ro` or `rw`: what it may do with the folder that it shares with its pod.
    pub(crate) fn access(&self) -> &'static str {
        let mount = &self.0["volumeMounts"][0];
        assert_eq!(mount["mountPath"], Value::from("/run/elect"));
        if mount["readOnly"] == true { "ro" } else { "rw" }
    }
}

pub(crate) fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(text).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value:?} is no text")).to_owned()
}
