//! What stores on other machines have in common: URLs, credentials, TLS. No contract, only manners, so
//! that a password or a certificate is given in the same way whatever the store.

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
