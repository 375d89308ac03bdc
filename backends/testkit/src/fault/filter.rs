//! A seccomp filter that refuses a system call, as containers and systemd units have one.
#![allow(unsafe_code, reason = "to install a filter before main")]

use std::ffi::{CString, OsString};

/// The first word of the program that installs a filter and executes another program.
const FIRST_WORD: &str = "elect-filter";

/// What the kernel does with a refused call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The call fails with this `errno`.
    Error(i32),
    /// The kernel kills the process (`SIGSYS`).
    Kill,
}

/// A filter that refuses one system call, or only with one value of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The number of the call.
    pub call: libc::c_long,
    /// The index of the argument, from 0 on, and the value to refuse.
    pub argument: Option<(u32, u32)>,
    /// What the kernel does with a refused call.
    pub refusal: Refusal,
}

impl Filter {
    /// Returns the first words of a command line that runs the words after them under this filter.
    ///
    /// # Panics
    /// Never: the test's own executable is known.
    pub fn words(&self) -> Vec<OsString> {
        link();
        let own = std::env::current_exe().expect("the test's own executable");
        let (place, value) = self.argument.unwrap_or((u32::MAX, 0));
        let refusal = match self.refusal {
            Refusal::Error(errno) => errno,
            Refusal::Kill => -1,
        };
        let numbers = [self.call, place.into(), value.into(), refusal.into()];
        let numbers = numbers.map(|number| number.to_string().into());
        [own.into(), FIRST_WORD.into()].into_iter().chain(numbers).collect()
    }
}

crate::entry::entry!(enter);

/// Installs a filter and executes the program behind it, if `words` begin as [`Filter::words`] does. Returns the
/// exit code if that fails.
fn enter(words: &[&str]) -> Option<i32> {
    let [FIRST_WORD, call, place, value, refusal, program @ ..] = words else { return None };
    let (call, refusal) = (call.parse().ok()?, refusal.parse().ok()?);
    let program: Vec<CString> =
        program.iter().filter_map(|word| CString::new(*word).ok()).collect();
    if !install(call, place.parse().ok()?, value.parse().ok()?, refusal) {
        return Some(95);
    }
    nix::unistd::execvp(program.first()?, &program).ok()?;
    Some(94)
}

/// Offsets in the kernel's `struct seccomp_data`: the number of the call, and the lower half of its first argument.
const NUMBER: u32 = 0;
const ARGUMENTS: u32 = 16;

fn install(call: u32, place: u32, value: u32, refusal: i32) -> bool {
    /// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JEQ | BPF_K`, `BPF_RET | BPF_K`.
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let refused = match u32::try_from(refusal) {
        Ok(errno) => libc::SECCOMP_RET_ERRNO | errno,
        Err(_) => libc::SECCOMP_RET_KILL_PROCESS,
    };
    let mut steps = vec![step(LOAD, 0, 0, NUMBER)];
    if place == u32::MAX {
        steps.push(step(EQUAL, 0, 1, call));
    } else {
        let place = ARGUMENTS + 8 * place;
        steps.push(step(EQUAL, 0, 3, call));
        steps.extend([step(LOAD, 0, 0, place), step(EQUAL, 0, 1, value)]);
    }
    steps.extend([step(RETURN, 0, 0, refused), step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW)]);
    let length = u16::try_from(steps.len()).unwrap_or(0);
    let filter = libc::sock_fprog { len: length, filter: steps.as_mut_ptr() };
    // SAFETY: the kernel reads the filter during the call only, and the filter lives that long. The other call
    // takes integers.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    }
}
