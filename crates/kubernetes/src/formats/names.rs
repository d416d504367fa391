//! The formats that name hosts and people: `hostname`, `email`, `uri`, and the Kubernetes names.
//!
//! Decides by grammar only; never resolves anything.

/// A host name: one label, or labels that end in an alphabetic top level.
pub(super) fn is_hostname(text: &str) -> bool {
    if text.len() > 255 {
        return false;
    }
    let labels: Vec<&str> = text.split('.').collect();
    let alone = labels.len() == 1;
    labels.iter().enumerate().all(|(at, label)| {
        let last = at + 1 == labels.len();
        let inside = |c: char| c.is_alphanumeric() || c == '-';
        let shaped = !label.is_empty()
            && label.len() <= 63
            && label.chars().all(inside)
            && !label.starts_with('-')
            && !label.ends_with('-');
        shaped && (!last || alone || (label.chars().count() >= 2 && label.chars().all(char::is_alphabetic)))
    })
}

/// A mail address, bare or as `Name <address>`.
pub(super) fn is_email(text: &str) -> bool {
    let trimmed = text.trim();
    let address = match trimmed.strip_suffix('>') {
        Some(open) => match open.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => trimmed,
    };
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    (quoted || is_dot_atom(local)) && (literal || is_dot_atom(domain))
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| {
        !atom.is_empty()
            && atom
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii())
    })
}

/// An absolute URI, or an absolute path.
pub(super) fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|c| c.is_ascii_control() || c == ' ') || !escapes_are_whole(text) {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && !rest.is_empty()
}

fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let mut letters = after.chars();
        letters.next().is_some_and(|c| c.is_ascii_hexdigit())
            && letters.next().is_some_and(|c| c.is_ascii_hexdigit())
    })
}
