//! A program in a terminal: a pseudoterminal, and a parser that turns the output into a screen.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::Parser;

/// How long a page may take to show something.
const SHOWN_WITHIN: Duration = Duration::from_mins(1);

/// A terminal of a size, with a program in it. The program is killed when the terminal is dropped.
pub(crate) struct Terminal {
    child: Child,
    control: File,
    screen: Arc<Mutex<Parser>>,
}

impl Terminal {
    /// Starts a program in a terminal that has so many columns and rows.
    pub(crate) fn open(size: (u16, u16), command: &Command) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let control = openpt(flags).expect("the kernel has pseudoterminals");
        grantpt(&control).expect("granted");
        unlockpt(&control).expect("unlocked");
        let terminal = File::from(ioctl_tiocgptpeer(&control, flags).expect("the other end"));
        tcsetwinsize(&control, winsize(size)).expect("a size");
        // The program's own session, of which this is the terminal: signals of keys and of a new size reach it.
        let mut session = Command::new("setsid");
        session
            .arg("--ctty")
            .arg(command.get_program())
            .args(command.get_args());
        session.env("TERM", "xterm-256color");
        session.stdin(terminal.try_clone().expect("a copy"));
        session
            .stdout(terminal.try_clone().expect("a copy"))
            .stderr(terminal);
        let child = session.spawn().expect("setsid is there: it is of util-linux");
        // It holds copies of the other end, and the reader waits until the last one is closed.
        drop(session);
        let control = File::from(control);
        let screen = Arc::new(Mutex::new(Parser::new(cells(size.1), cells(size.0), 0)));
        let (mut printed, shown) = (control.try_clone().expect("a copy"), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // An error is how a pseudoterminal ends.
            while let Ok(length @ 1..) = printed.read(&mut bytes) {
                locked(&shown).process(bytes.get(..length).unwrap_or_default());
            }
        });
        Self {
            child,
            control,
            screen,
        }
    }

    /// Types a key, as its bytes.
    pub(crate) fn press(&self, key: &str) {
        (&self.control).write_all(key.as_bytes()).expect("a key");
    }

    /// Changes the size of the terminal, of which the program is notified by a signal.
    pub(crate) fn resize(&self, size: (u16, u16)) {
        locked(&self.screen).set_size(cells(size.1), cells(size.0));
        tcsetwinsize(&self.control, winsize(size)).expect("a size");
    }

    /// Waits until the page is as it should be; returns it.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let page = self.page();
            if holds(&page) {
                return page;
            }
            assert!(begun.elapsed() < SHOWN_WITHIN, "{what}, not\n{page}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the page shows a text; returns the page.
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(text, |page| page.contains(text))
    }

    /// The rows as they are shown, without the blanks at their ends.
    fn page(&self) -> String {
        let parser = locked(&self.screen);
        let rows = parser.screen().rows(0, u16::MAX);
        rows.map(|row| row.trim_end().to_owned() + "\n").collect()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn locked(screen: &Mutex<Parser>) -> MutexGuard<'_, Parser> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a terminal has cells")
}

fn winsize((columns, rows): (u16, u16)) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
