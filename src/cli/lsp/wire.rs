//! Messages of the Language Server Protocol on a pipe.
//!
//! Decides what is no message, and how large one may be. What cannot be read is told and passed over: an editor that has said nonsense once
//! still gets its answers. Never keeps more than one message.

use std::io::{self, BufRead, Read as _};

use lsp_server::Message;

/// The largest message, in bytes: a file of the largest size, with every letter escaped.
const LARGEST: u64 = 128 << 20;
/// The longest line of a header.
const LONGEST_LINE: u64 = 8 << 10;

/// What stands next on a pipe.
#[derive(Debug)]
pub(super) enum Frame {
    /// A message.
    Message(Message),
    /// Something else, in words.
    Nonsense(String),
    /// Nothing will come any more.
    End,
}

/// Reads what comes next.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Frame> {
    let mut length = None;
    let mut odd = false;
    loop {
        let Some(line) = line(input)? else {
            return Ok(Frame::End);
        };
        if line.is_empty() {
            if length.is_some() || odd {
                break;
            }
            // Empty lines between messages are passed over.
            continue;
        }
        match line.split_once(':') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("Content-Length") => {
                length = value.trim().parse::<u64>().ok();
                odd |= length.is_none();
            }
            Some((name, _)) if name.trim().eq_ignore_ascii_case("Content-Type") => {}
            Some(_) | None => odd = true,
        }
    }
    match length {
        None => Ok(Frame::Nonsense(
            "a header without a usable Content-Length".to_owned(),
        )),
        Some(length) if length > LARGEST => {
            io::copy(&mut input.take(length), &mut io::sink())?;
            Ok(Frame::Nonsense(format!(
                "a message of more than {} MiB",
                LARGEST >> 20
            )))
        }
        Some(length) => body(input, length),
    }
}

fn body(input: &mut impl BufRead, length: u64) -> io::Result<Frame> {
    let mut bytes = Vec::new();
    // Room is made for what comes, not for what was announced.
    input.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Ok(Frame::End);
    }
    Ok(match serde_json::from_slice(&bytes) {
        Ok(message) => Frame::Message(message),
        Err(error) => Frame::Nonsense(format!("no message: {error}")),
    })
}

/// Reads a line without its end; one that is too long is read to its end, and cut.
fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if input.take(LONGEST_LINE).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    let mut rest = bytes.clone();
    while rest.last() != Some(&b'\n') {
        rest.clear();
        if input.take(LONGEST_LINE).read_until(b'\n', &mut rest)? == 0 {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &[u8]) -> Vec<String> {
        let mut input = io::BufReader::new(text);
        let mut said = Vec::new();
        loop {
            match read(&mut input).expect("bytes in memory") {
                Frame::Message(Message::Request(asked)) => said.push(asked.method),
                Frame::Message(Message::Notification(told)) => said.push(told.method),
                Frame::Message(Message::Response(_)) => said.push("response".to_owned()),
                Frame::Nonsense(_) => said.push("nonsense".to_owned()),
                Frame::End => return said,
            }
        }
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn what_is_no_message_does_not_hide_the_next() {
        let good = framed(r#"{"jsonrpc":"2.0","method":"initialized"}"#);
        for bad in [
            "what is this?\r\n\r\n".to_owned(),
            "Content-Length: many\r\n\r\n".to_owned(),
            framed("{"),
            framed("[]"),
            framed("\u{1f30a}"),
            framed(&"[".repeat(100_000)),
            format!("{}\r\n\r\n", "x".repeat(100_000)),
        ] {
            let text = [good.as_str(), &bad, &good].concat();
            assert_eq!(
                frames(text.as_bytes()),
                ["initialized", "nonsense", "initialized"],
                "{bad:.40}"
            );
        }
        let text = ["\r\n\n", "content-length:2\r\nContent-Type: x\r\n\r\n{}", &good].concat();
        assert_eq!(frames(text.as_bytes()), ["nonsense", "initialized"]);
    }

    #[test]
    fn what_breaks_off_is_the_end_whatever_it_has_announced() {
        for text in [
            "",
            "Content-Le",
            "Content-Length: 5\r\n\r\n{}",
            "Content-Length: 999999999999999\r\n\r\n{}",
            "Content-Length: 100000000\r\n\r\n{}",
        ] {
            let said = frames(text.as_bytes());
            assert!(said.iter().all(|word| word == "nonsense"), "{text}: {said:?}");
        }
    }
}
