//! The common parts of stores on other machines: URLs, credentials, TLS. They are not part of the
//! contract. They ensure that a user gives a password or a certificate in the same way for every
//! store.

mod credentials;
mod exposure;
mod identity;
mod tls;
mod url;

pub use credentials::{Credentials, Secret};
pub use exposure::is_open;
pub use identity::{Identity, StoreId};
pub use tls::Tls;
pub use url::{Host, Url};
