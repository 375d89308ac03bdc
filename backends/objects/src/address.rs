//! The URL of a bucket.

use std::net::IpAddr;

use elect_amazon::Service;
use elect_api::Error;
use elect_remote::{Address, Host, Settings, Url, Variable, unfit};
use object_store::path::Path;

use crate::{PRODUCT, SCHEME};

/// The settings that a variable of Amazon's has, too. The first that is set counts.
const VARIABLES: &[(&str, &str)] =
    &[("ca", "AWS_CA_BUNDLE"), ("endpoint", "AWS_ENDPOINT_URL_S3"), ("profile", "AWS_PROFILE")];
/// The bucket stands in the path of a request, not in the name of the host.
const PATH_STYLE: &str = "path-style";
/// The greatest length of a prefix. A key has 1024 bytes.
const LONGEST_PREFIX: usize = 512;

/// Reads a URL, and the files that it names. `variable` reads the environment.
///
/// # Errors
/// `Unfit` or `Denied`, with a message that names the wrong part.
pub(crate) fn parse(text: &str, variable: Variable<'_>) -> Result<Address, Error> {
    let options = [elect_amazon::OPTIONS, &[PATH_STYLE]].concat();
    let settings = Settings::of(text, &options, VARIABLES, variable)?;
    let wrong = || {
        unfit(
            "the URL is s3://BUCKET[/PREFIX], and what else it takes are options, as in ?region=eu-west-1; credentials \
             come from Amazon's variables and files",
        )
    };
    let bucket = Service::part(&settings).ok_or_else(wrong)?;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(is_letter) {
        return Err(unfit(
            "the name of a bucket has 3 to 63 letters, digits and the characters _-.",
        ));
    }
    let prefix = prefix(&settings.url)?;
    let shown = format!("{bucket}/{prefix}").trim_end_matches('/').to_owned();
    settings.url.flag(PATH_STYLE)?;
    let url = settings.url.clone();
    let service = Service { product: &PRODUCT, name: SCHEME, part: bucket.clone(), shown };
    service.address(settings, |host| {
        if !is_below(&url, &bucket, &host) {
            return host;
        }
        Host { name: format!("{bucket}.{}", host.name), port: host.port }
    })
}

/// Whether a bucket has a name below that of the host. The name below it then is the host.
pub(crate) fn is_below(url: &Url, bucket: &str, host: &Host) -> bool {
    // An address has no names below it, and a certificate is for one level of names.
    let is_fixed = host.is_loopback() || host.name.parse::<IpAddr>().is_ok();
    let is_asked_for = url.flag(PATH_STYLE).unwrap_or(false);
    !is_asked_for && !is_fixed && !bucket.contains('.')
}

/// What the keys of all objects begin with.
///
/// # Errors
/// `Unfit` if it is no such text.
pub(crate) fn prefix(url: &Url) -> Result<Path, Error> {
    let text = url.path.trim_matches('/');
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "/_-.=+@:".contains(letter);
    let prefix = Path::parse(text).ok();
    let prefix = prefix.filter(|_| text.chars().all(is_letter) && text.len() <= LONGEST_PREFIX);
    prefix.ok_or_else(|| {
        unfit("the prefix in the URL has up to 512 letters, digits and the characters /_-.=+@:")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<Address, Error> {
        super::parse(url, &elect_testkit::environment(variables))
    }

    #[test]
    fn a_bucket_is_a_name_below_the_host_where_it_can_be() {
        let region = ("AWS_REGION", "eu-west-1");
        for (url, variables, host, location) in [
            (
                "s3://jobs?region=us-east-2",
                &[][..],
                "jobs.s3.us-east-2.amazonaws.com:443",
                "s3://jobs?region=us-east-2",
            ),
            (
                "s3://jobs/a/b/?path-style",
                &[region],
                "s3.eu-west-1.amazonaws.com:443",
                "s3://jobs/a/b?region=eu-west-1",
            ),
            (
                "s3://jobs.example",
                &[region],
                "s3.eu-west-1.amazonaws.com:443",
                "s3://jobs.example?region=eu-west-1",
            ),
            (
                "s3://jobs?endpoint=http://127.0.0.1:9000",
                &[region],
                "127.0.0.1:9000",
                "s3://jobs?region=eu-west-1&endpoint=http://127.0.0.1:9000",
            ),
            (
                "s3://jobs?order=queue",
                &[region, ("AWS_ENDPOINT_URL_S3", "https://a.example:9")],
                "jobs.a.example:9",
                "s3://jobs?region=eu-west-1&order=queue&endpoint=https://a.example:9",
            ),
        ] {
            let address = parse(url, variables).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(address.destinations[0].way.to_string(), host, "{url}");
            assert_eq!(address.location, location, "{url}");
        }
    }

    #[test]
    fn a_url_that_means_no_bucket_is_refused() {
        let region = ("AWS_REGION", "eu-west-1");
        for (url, variables, why) in [
            ("s3://jobs", &[][..], "the region is missing"),
            ("s3://", &[region], "the URL is s3://BUCKET"),
            ("s3://a,b", &[region], "the URL is s3://BUCKET"),
            ("s3://jobs:1", &[region], "the URL is s3://BUCKET"),
            ("s3://key:secret@jobs", &[region], "credentials come from"),
            ("s3://jo", &[region], "the name of a bucket"),
            ("s3://jobs/a//b", &[region], "the prefix"),
            ("s3://jobs/a%25", &[region], "the prefix"),
            ("s3://jobs/..", &[region], "the prefix"),
            ("s3://jobs?endpoint=http://a.example", &[region], "without TLS"),
            ("s3://jobs?endpoint=https://a/b", &[region], "no path"),
        ] {
            let error = parse(url, variables).err().expect(url);
            assert!(error.to_string().contains(why), "{url}: {error}");
            assert!(!error.to_string().contains("secret"), "{url}: {error}");
        }
        let plain = "s3://jobs?endpoint=http://a.example&allow-plain";
        parse(plain, &[region]).expect("accepted");
    }
}
