//! The URL of a table.

use elect_amazon::{OPTIONS, Service};
use elect_api::Error;
use elect_remote::{Address, Settings, Variable, unfit};

use crate::{PRODUCT, SCHEME};

/// The settings that a variable of Amazon's has, too. The first that is set counts.
const VARIABLES: &[(&str, &str)] = &[
    ("ca", "AWS_CA_BUNDLE"),
    ("endpoint", "AWS_ENDPOINT_URL_DYNAMODB"),
    ("profile", "AWS_PROFILE"),
];

/// Reads a URL, and the files that it names. `variable` reads the environment.
///
/// # Errors
/// `Unfit` or `Denied`, with a message that names the wrong part.
pub(crate) fn parse(text: &str, variable: Variable<'_>) -> Result<Address, Error> {
    let settings = Settings::of(text, OPTIONS, VARIABLES, variable)?;
    let part = table(&settings)?;
    let service = Service { product: &PRODUCT, name: SCHEME, shown: part.clone(), part };
    service.address(settings, |host| host)
}

/// The name of the table, which stands where other URLs have a host.
fn table(settings: &Settings<'_>) -> Result<String, Error> {
    if settings.url.hosts.len() > 1 {
        return Err(unfit("the URL names one table"));
    }
    let has_no_path = matches!(&*settings.url.path, "" | "/");
    let Some(name) = Service::part(settings).filter(|_| has_no_path) else {
        return Err(unfit(
            "the URL is dynamodb://TABLE, and what else it takes are options, as in ?region=eu-west-1; credentials come \
             from Amazon's variables and files",
        ));
    };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if !(3..=255).contains(&name.len()) || !name.chars().all(is_letter) {
        return Err(unfit(
            "the name of a table has 3 to 255 letters, digits and the characters _-.",
        ));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use elect_api::ErrorKind;

    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<Address, Error> {
        super::parse(url, &elect_testkit::environment(variables))
    }

    #[test]
    fn what_a_url_leaves_out_is_what_amazon_s_tools_take() {
        let region = ("AWS_REGION", "eu-west-1");
        for (url, variables, host, location) in [
            (
                "dynamodb://elect?region=us-east-2",
                &[][..],
                "dynamodb.us-east-2.amazonaws.com:443",
                "dynamodb://elect?region=us-east-2",
            ),
            (
                "dynamodb://Elect_1",
                &[region],
                "dynamodb.eu-west-1.amazonaws.com:443",
                "dynamodb://Elect_1?region=eu-west-1",
            ),
            (
                "dynamodb://elect",
                &[("AWS_DEFAULT_REGION", "cn-north-1")],
                "dynamodb.cn-north-1.amazonaws.com.cn:443",
                "dynamodb://elect?region=cn-north-1",
            ),
            (
                "dynamodb://elect?endpoint=http://localhost:8000",
                &[region],
                "localhost:8000",
                "dynamodb://elect?region=eu-west-1&endpoint=http://localhost:8000",
            ),
            (
                "dynamodb://elect?order=queue",
                &[region],
                "dynamodb.eu-west-1.amazonaws.com:443",
                "dynamodb://elect?region=eu-west-1&order=queue",
            ),
            (
                "dynamodb://elect",
                &[region, ("AWS_ENDPOINT_URL", "https://a:9")],
                "a:9",
                "dynamodb://elect?region=eu-west-1&endpoint=https://a:9",
            ),
        ] {
            let address = parse(url, variables).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(address.destinations[0].way.to_string(), host, "{url}");
            assert_eq!(address.location, location, "{url}");
        }
    }

    #[test]
    fn the_region_is_that_of_the_url_or_a_variable_or_the_file() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, "[default]\nregion = of-file\n").expect("written");
        let file = ("AWS_CONFIG_FILE", file.path().to_str().expect("a path"));
        let (variable, usual) = (("AWS_REGION", "of-variable"), ("AWS_DEFAULT_REGION", "usual"));
        for (url, variables, region) in [
            ("dynamodb://elect?region=of-url", &[file, usual, variable][..], "of-url"),
            ("dynamodb://elect", &[file, usual, variable], "of-variable"),
            ("dynamodb://elect", &[file, usual], "usual"),
            ("dynamodb://elect", &[file], "of-file"),
        ] {
            assert_eq!(parse(url, variables).expect(url).space, region, "{url}, {variables:?}");
        }
    }

    #[test]
    fn a_profile_whose_credentials_are_not_found_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text =
            "[profile a]\nsso_session = b\n[profile c]\nrole_arn = d\n[profile e]\noutput = json\n";
        std::fs::write(&file, text).expect("written");
        let region = ("AWS_REGION", "eu-west-1");
        let file = ("AWS_CONFIG_FILE", file.path().to_str().expect("a path"));
        for (profile, why) in [("a", "has sso_session"), ("c", "has role_arn")] {
            let chosen = ("AWS_PROFILE", profile);
            let error = parse("dynamodb://elect", &[region, file, chosen]).err().expect(profile);
            assert!(error.to_string().contains(why), "{error}");
            assert!(error.to_string().contains("export-credentials"), "{error}");
            let key = ("AWS_ACCESS_KEY_ID", "AKIA");
            parse("dynamodb://elect", &[region, file, chosen, key]).expect("it has keys");
        }
        parse("dynamodb://elect?profile=e", &[region, file]).expect("elect knows it");
    }

    #[test]
    fn a_url_that_means_no_table_is_refused() {
        let region = ("AWS_REGION", "eu-west-1");
        for (url, variables, why) in [
            ("dynamodb://elect", &[][..], "the region is missing"),
            ("dynamodb://elect?region=EU", &[], "the region"),
            ("dynamodb://", &[region], "the URL is dynamodb://TABLE"),
            ("dynamodb://a,b", &[region], "names one table"),
            ("dynamodb://elect/x", &[region], "the URL is dynamodb://TABLE"),
            ("dynamodb://elect:1", &[region], "the URL is dynamodb://TABLE"),
            ("dynamodb://key:secret@elect", &[region], "credentials come from"),
            ("dynamodb://el", &[region], "the name of a table"),
            ("dynamodb://elect?endpoint=http://a", &[region], "without TLS"),
            ("dynamodb://elect?order=first", &[region], "race or queue"),
            (
                "dynamodb://elect",
                &[region, ("AWS_USE_FIPS_ENDPOINT", "true")],
                "dynamodb-fips.eu-west-1",
            ),
            ("dynamodb://elect", &[region, ("AWS_USE_DUALSTACK_ENDPOINT", "True")], "api.aws"),
            ("dynamodb://elect?endpoint=a:1", &[region], "begins with https://"),
            ("dynamodb://elect?endpoint=https://a/b", &[region], "no path"),
            ("dynamodb://elect?endpoint=http://k:secret@localhost", &[region], "no password"),
            ("dynamodb://elect?endpoint=https://secret@a", &[region], "no password"),
            ("dynamodb://elect?endpoint=https://k:se/cret@a", &[region], "no password"),
            (
                "dynamodb://elect",
                &[region, ("AWS_ENDPOINT_URL", "http://:secret@localhost")],
                "no password",
            ),
            (
                "dynamodb://elect?credentials-file=/nowhere",
                &[region],
                "cannot read the option credentials-file, /nowhere",
            ),
            ("dynamodb://elect?profile=none", &[region], "there is no profile none in "),
        ] {
            let error = parse(url, variables).err().expect(url);
            assert!(error.to_string().contains(why), "{url}: {error}");
            assert!(!error.to_string().contains("cret@"), "{url}: {error}");
        }
        let plain = "dynamodb://elect?endpoint=http://a&allow-plain";
        parse(plain, &[region]).expect("accepted");
    }

    #[test]
    fn a_file_of_credentials_that_everybody_can_read_is_told() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let path = folder.path().join("credentials");
        let text = "[default]\naws_access_key_id = AKIA\naws_secret_access_key = any\n";
        std::fs::write(&path, text).expect("written");
        let change = |path: &Path, mode| {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("the mode");
        };
        change(folder.path(), 0o755);
        let shown = path.to_str().expect("a text");
        let option = format!("dynamodb://elect?credentials-file={shown}");
        let named = ("AWS_SHARED_CREDENTIALS_FILE", shown);
        let region = ("AWS_REGION", "eu-west-1");
        let keys = [("AWS_ACCESS_KEY_ID", "AKIA"), ("AWS_SECRET_ACCESS_KEY", "any")];
        for (url, variables) in [(&*option, &[region][..]), ("dynamodb://elect", &[region, named])]
        {
            for (mode, number) in [(0o644, 1), (0o640, 0)] {
                change(&path, mode);
                let told = parse(url, variables).expect(url).cautions;
                assert_eq!(told.len(), number, "{url}: {told:?}");
                assert!(told.iter().all(|it| it.what.contains("everybody can read")), "{told:?}");
            }
            change(&path, 0o644);
            let others = parse(url, &[variables, &keys].concat()).expect(url).cautions;
            assert_eq!(others.is_empty(), url != option, "only the option counts before variables");
        }
    }

    /// Such a file may name another server, and a program to run.
    #[test]
    fn files_that_others_can_write_are_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::set_permissions(file.path(), Permissions::from_mode(0o666)).expect("the mode");
        let region = ("AWS_REGION", "eu-west-1");
        for name in ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"] {
            let named = (name, file.path().to_str().expect("a path"));
            let error = parse("dynamodb://elect", &[region, named]).err().expect(name);
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            assert!(error.to_string().contains("could have it run any program"), "{error}");
            parse("dynamodb://elect", &[region, (name, "/dev/null")]).expect("no file");
        }
    }

    #[test]
    fn a_damaged_configuration_is_named_with_its_line() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let region = ("AWS_REGION", "eu-west-1");
        let named = ("AWS_CONFIG_FILE", file.path().to_str().expect("a path"));
        for (text, why) in [
            ("region = x\n", "line 1 is not below a [PROFILE]"),
            ("[default]\n\nhush\n", "line 3 is neither [PROFILE] nor NAME = VALUE"),
            ("[default\n", "line 1 lacks a ]"),
        ] {
            std::fs::write(&file, text).expect("written");
            let error = parse("dynamodb://elect", &[region, named]).err().expect(text);
            let words = error.to_string();
            assert!(words.contains(named.1) && words.contains(why), "{words}");
            assert!(!words.contains("hush"), "{words}");
        }
    }
}
