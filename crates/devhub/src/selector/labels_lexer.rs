//! Words of a label selector.
//!
//! Decides where one word ends and the next begins; never what a selector means.

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
            continue;
        }
        let mut word = String::new();
        if is_symbol(letter) {
            let mut token = None;
            while let Some(&next) = letters.peek() {
                let longer = format!("{word}{next}");
                let known = is_symbol(next).then(|| symbol(&longer)).flatten();
                if !is_symbol(next) || (known.is_none() && token.is_some()) {
                    break;
                }
                token = known.or(token);
                word = longer;
                letters.next();
            }
            words.push(Word {
                token: token.unwrap_or(Token::Unknown),
                text: word,
            });
            continue;
        }
        while let Some(next) = letters.next_if(|&next| !is_symbol(next) && !is_blank(next)) {
            word.push(next);
        }
        let token = match word.as_str() {
            "in" => Token::In,
            "notin" => Token::NotIn,
            _ => Token::Identifier,
        };
        words.push(Word { token, text: word });
    }
    words.push(Word {
        token: Token::End,
        text: String::new(),
    });
    words
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
