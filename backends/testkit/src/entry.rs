//! Programs inside a test's own executable, which so finds them always. Each runs before the test harness does.
//!
//! A module with such a program calls [`entry!`] with a function that returns `None` in any other process.

/// Defines `link`, which keeps the program of a function `fn(&[&str]) -> Option<i32>` in the executable. The function
/// gets the words of the command line after the first, and returns the exit code.
macro_rules! entry {
    ($enter:path) => {
        /// Keeps the program in every executable that refers to this function. The linker would drop it otherwise.
        #[allow(unsafe_code, reason = "to run before main takes a section of its own")]
        pub(super) fn link() {
            extern "C" fn begin() {
                $crate::entry::enter($enter);
            }
            // SAFETY: the C library calls each function of this section once, before main and with a single thread.
            // This one needs nothing that main sets up, and returns unless the process is one of its own.
            #[used]
            #[unsafe(link_section = ".init_array")]
            static ENTRY: extern "C" fn() = begin;
            std::hint::black_box(&ENTRY);
        }
    };
}
pub(crate) use entry;

/// Runs a program if this process is one, and then ends the process.
pub(crate) fn enter(program: fn(&[&str]) -> Option<i32>) {
    let Ok(line) = std::fs::read("/proc/self/cmdline") else { return };
    let words = line.split(|&byte| byte == 0).skip(1);
    let words: Vec<&str> = words.filter_map(|word| std::str::from_utf8(word).ok()).collect();
    // The last word is followed by a NUL as well.
    if let Some(code) = program(&words[..words.len().saturating_sub(1)]) {
        exit(code)
    }
}

/// Ends the process at once.
#[allow(unsafe_code, reason = "to leave without destructors takes _exit")]
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: _exit has no preconditions. No test, harness or destructor may run here.
    unsafe { libc::_exit(code) }
}
