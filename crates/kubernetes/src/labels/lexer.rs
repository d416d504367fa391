//! Words of a label selector.
//!
//! Decides where one word ends and the next begins; never what a selector means.

use std::iter::Peekable;
use std::str::Chars;

/// Kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    ClosedPar,
    Comma,
    DoesNotExist,
    DoubleEquals,
    End,
    Equals,
    Unknown,
    GreaterThan,
    Identifier,
    In,
    LessThan,
    NotEquals,
    NotIn,
    OpenPar,
}

/// One word with its text.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) token: Token,
    pub(super) text: String,
}

/// Splits a selector into words; the last one is always [`Token::End`].
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(&letter) = letters.peek() {
        if is_blank(letter) {
            letters.next();
        } else if is_symbol(letter) {
            words.push(symbol_word(&mut letters));
        } else {
            words.push(name_word(&mut letters));
        }
    }
    words.push(Word {
        token: Token::End,
        text: String::new(),
    });
    words
}

/// Takes the longest run of symbols that is one word.
fn symbol_word(letters: &mut Peekable<Chars<'_>>) -> Word {
    let mut word = String::new();
    let mut token = None;
    while let Some(next) = letters.peek().copied().filter(|letter| is_symbol(*letter)) {
        let known = symbol(&format!("{word}{next}"));
        if known.is_none() && token.is_some() {
            break;
        }
        token = known.or(token);
        word.push(next);
        letters.next();
    }
    Word {
        token: token.unwrap_or(Token::Unknown),
        text: word,
    }
}

fn name_word(letters: &mut Peekable<Chars<'_>>) -> Word {
    let mut word = String::new();
    while let Some(next) = letters.next_if(|&next| !is_symbol(next) && !is_blank(next)) {
        word.push(next);
    }
    let token = match word.as_str() {
        "in" => Token::In,
        "notin" => Token::NotIn,
        _ => Token::Identifier,
    };
    Word { token, text: word }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(letter: char) -> bool {
    matches!(letter, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn symbol(text: &str) -> Option<Token> {
    Some(match text {
        ")" => Token::ClosedPar,
        "," => Token::Comma,
        "!" => Token::DoesNotExist,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::GreaterThan,
        "<" => Token::LessThan,
        "!=" => Token::NotEquals,
        "(" => Token::OpenPar,
        _ => return None,
    })
}
