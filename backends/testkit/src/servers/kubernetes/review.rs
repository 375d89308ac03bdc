//! Reviews by which users ask what they may do.

use serde_json::{Value, json};

use super::access::{Deed, Users};
use super::request::Request;
use super::status::{Reply, bad_request, method_not_allowed, no_such_path};

pub(super) fn review(
    users: &Users,
    user: &str,
    request: &Request,
    resource: &str,
) -> Result<Reply, Reply> {
    if request.verb() != "create" {
        return Err(method_not_allowed());
    }
    let body: Value = serde_json::from_slice(&request.body).map_err(|error| {
        bad_request(&format!("couldn't get version/kind; json parse error: {error}"))
    })?;
    if resource != "selfsubjectaccessreviews" {
        return Err(no_such_path());
    }
    Ok(Reply::json(
        201,
        json!({
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {"creationTimestamp": null},
            "spec": spec(&body),
            "status": access(users, user, &body),
        }),
    ))
}

/// Returns the question as it was asked, without empty fields.
fn spec(body: &Value) -> Value {
    let attributes = body["spec"]["resourceAttributes"].as_object();
    let told = attributes.into_iter().flatten().filter(|(_, value)| value.as_str() != Some(""));
    let told: serde_json::Map<String, Value> =
        told.map(|(field, value)| (field.clone(), value.clone())).collect();
    json!({"resourceAttributes": told})
}

fn access(users: &Users, user: &str, body: &Value) -> Value {
    let text = |field: &str| body["spec"]["resourceAttributes"][field].as_str().unwrap_or_default();
    let deed = Deed {
        verb: text("verb"),
        group: text("group"),
        resource: text("resource"),
        namespace: text("namespace"),
        name: text("name"),
    };
    if !users.may(user, &deed) {
        return json!({"allowed": false});
    }
    let namespace = deed.namespace;
    let reason = format!(
        "RBAC: allowed by RoleBinding \"{user}/{namespace}\" of Role \"{user}\" to User \"{user}\""
    );
    json!({"allowed": true, "reason": reason})
}
