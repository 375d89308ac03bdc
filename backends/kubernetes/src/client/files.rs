//! Reads the files of a kubeconfig or a pod. All files of one access are read together, and again together: see
//! `current`.

use std::path::{Path, PathBuf};

use elect_api::Error;

/// The files that were read for one access, with their contents. The system's authorities have no path.
#[derive(Default, PartialEq)]
pub(super) struct Files(Vec<(PathBuf, Vec<u8>)>);

impl Files {
    /// Reads a token. `what` names it in messages.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Denied`] or `Unfit` if it cannot be read.
    pub(super) fn read(&mut self, what: &str, path: &Path) -> Result<Vec<u8>, Error> {
        Ok(self.keep(path, elect_remote::read(what, path)?))
    }

    /// Reads a certificate or a key, in PEM.
    ///
    /// # Errors
    /// As [`Files::read`].
    pub(super) fn pem(&mut self, what: &str, path: &Path) -> Result<String, Error> {
        let bytes = self.read(what, path)?;
        elect_remote::pem_of(&format!("{what}, {},", path.display()), &bytes)
    }

    /// Reads the system's authorities, in PEM. `setting` names the setting that names others.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unfit`] if there are none.
    pub(super) fn system_authorities(&mut self, setting: &str) -> Result<String, Error> {
        let pem = elect_remote::system_authorities(setting)?;
        self.keep(Path::new(""), pem.clone().into_bytes());
        Ok(pem)
    }

    /// Reads a kubeconfig, and returns `None` if there is none. It can have us run any program, so only we and root
    /// may be able to write it.
    ///
    /// # Errors
    /// As [`Files::read`], and `Denied` if another user can write it.
    pub(super) fn read_kubeconfig(&mut self, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        let found = elect_remote::read_instructions("the kubeconfig", path)?;
        Ok(found.map(|bytes| self.keep(path, bytes)))
    }

    fn keep(&mut self, path: &Path, bytes: Vec<u8>) -> Vec<u8> {
        self.0.push((path.to_owned(), bytes.clone()));
        bytes
    }
}
