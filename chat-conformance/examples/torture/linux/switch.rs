//! The switch that takes the power from under a file system: ext4 is told to shut down and to write nothing back. Another language
//! asks it to, since an ioctl can't be asked for without unsafe code.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

/// EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH, once a line is read: whichever language there is.
const PROGRAMS: &[[&str; 3]] = &[
    [
        "perl",
        "-e",
        r#"$| = 1; open(F, "<", $ARGV[0]) or die $!; my $how = pack("I", 2); print "ready\n"; <STDIN>; ioctl(F, 0x8004587d, $how) or die $!"#,
    ],
    [
        "python3",
        "-c",
        "import fcntl, os, struct, sys; f = os.open(sys.argv[1], os.O_RDONLY); print('ready', flush=True); sys.stdin.readline(); \
         fcntl.ioctl(f, 0x8004587d, struct.pack('I', 2))",
    ],
];

/// A program that waits to do it, so that it is done at once.
pub(crate) struct Switch {
    child: Child,
    input: ChildStdin,
}

impl Switch {
    /// # Errors
    /// No program can.
    pub(crate) fn of(mount_point: &Path) -> Result<Self, String> {
        let mut why = String::new();
        for [program, option, words] in PROGRAMS {
            let child = Command::new(program)
                .args([option, words])
                .arg(mount_point)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn();
            let mut child = match child {
                Ok(child) => child,
                Err(error) => {
                    why = format!("{program}: {error}");
                    continue;
                }
            };
            let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
                unreachable!("both were asked to be pipes")
            };
            let mut line = String::new();
            let read = BufReader::new(output).read_line(&mut line);
            let switch = Self { child, input };
            if read.is_ok() && line == "ready\n" {
                return Ok(switch);
            }
            why = format!("{program} is not ready to shut a file system down");
        }
        Err(why)
    }

    /// Takes the power away.
    ///
    /// # Errors
    /// The file system would not.
    pub(crate) fn off(mut self) -> Result<(), String> {
        self.input
            .write_all(b"off\n")
            .map_err(|error| error.to_string())?;
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the file system can't be shut down ({status})"))
        }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
