//! elect's store on the local disk.
