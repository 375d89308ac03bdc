//! Runs a command on exactly one machine at a time.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "elect needs Linux: it relies on PR_SET_PDEATHSIG, subreapers and signal-driven pipes"
);
