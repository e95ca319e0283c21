//! One pass over a text, word by word, that finds the credentials in it. It never looks back over what it took out: behind a
//! mark it starts as at the beginning of a text, which is why a second pass finds nothing more.

mod judge;

use std::ops::Range;

use super::{
    MARK, form, login,
    name::{self, Doubt, Name},
    sign::{self, Signed},
    value::{self, Sign},
};

/// How many words may stand between a word such as "token" and what looks like one.
const REACH: u8 = 3;

/// How far behind the name of a credential its `value` may stand.
const LISTED: usize = 128;

/// Where the credentials of a text stand: in order, apart from each other.
pub(super) fn credentials(text: &str) -> Vec<Range<usize>> {
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        next: 0,
        found: Vec::new(),
        prose: Prose::default(),
        listed: 0,
        wall: 0,
    };
    // Whatever a step does, every place is looked at once at most.
    for at in 0..text.len() {
        if at >= scan.next {
            scan.step(at);
        }
    }
    scan.found
}

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    /// All before it is done with.
    next: usize,
    found: Vec<Range<usize>>,
    prose: Prose,
    /// Up to where a `value` belongs to a credential that was named before: `name="x-api-key" value="..."`.
    listed: usize,
    /// The end of what was taken out last.
    wall: usize,
}

/// What the words before are worth knowing for.
#[derive(Default)]
struct Prose {
    /// The word before, where nothing but one space stands between.
    before: Option<Range<usize>>,
    /// In how many words from here a random one is still a credential.
    reach: u8,
}

/// A name with what makes a value of what stands behind it.
struct Named {
    sign: Sign,
    /// Whether there is space around the sign.
    spaced: bool,
    /// What the value must look like as well.
    proof: Proof,
    /// Whether the value reaches to the end of its line.
    line: bool,
    /// Where the value begins.
    value: usize,
    /// The quote that opened before the name and did not close behind it.
    quote: Option<value::Quote>,
}

/// What a value must look like to be a credential.
#[derive(Clone, Copy)]
enum Proof {
    /// Anything: the name says enough.
    None,
    /// No word of everyday.
    Opaque,
    /// Nothing that a person would say here.
    Odd,
    /// What this name stands for and others do not.
    Own(Name),
}

impl Scan<'_> {
    fn step(&mut self, at: usize) {
        match &self.bytes[at..] {
            rest if rest.starts_with(MARK.as_bytes()) => self.go_on(at + MARK.len()),
            [b, ..] if is_word_byte(*b) => {
                self.word(at..form::run_end(self.bytes, at, is_word_byte));
            }
            // The letter of an escape is no part of the word behind it.
            [b'\\', b'n' | b'r' | b't', ..] => self.next = at + 2,
            [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                self.next = at + 3;
            }
            [b':', b'/', b'/', ..] => self.url(at + "://".len()),
            [b'{' | b'}', ..] => {
                self.listed = 0;
                self.prose.before = None;
            }
            [b'!' | b'?' | b';' | b'\n', ..] => self.restart(at),
            [b' ', ..] => {}
            _ => self.prose.before = None,
        }
    }

    fn word(&mut self, word: Range<usize>) {
        if let Some(secret) = self.credential(word.clone()) {
            return self.redact(secret);
        }
        let first = self.bytes[..word.start].last().copied();
        let login = login::secret(&self.text[word.clone()], &self.text[word.end..], first);
        if let Some(login) = login {
            return self.redact(word.end + login.start..word.end + login.end);
        }
        self.list(word.clone(), first);
        if let Some(named) = self.named(word.clone()) {
            return self.value(&named);
        }
        if let Some(secret) = self.secret_in_prose(word.clone()) {
            return self.redact(secret);
        }
        let joined = self.prose.before.take();
        let known = name::names_credential(&self.text[word.clone()])
            || joined
                .is_some_and(|before| name::names_credential(&self.text[before.start..word.end]));
        self.prose.reach = if known {
            REACH
        } else {
            self.prose.reach.saturating_sub(1)
        };
        self.next = word.end;
        if matches!(self.bytes[word.end..], [b' ', next, ..] if is_word_byte(next)) {
            self.prose.before = Some(word);
        }
    }

    /// The first credential in a word that is told by its form.
    fn credential(&self, word: Range<usize>) -> Option<Range<usize>> {
        word.clone().find_map(|at| {
            let before = &self.bytes[word.start..at];
            let end = form::credential(before.last().copied(), &self.bytes[at..])
                .map(|length| at + length)
                .or_else(|| form::pem_end(self.text, at))?;
            // What stands before it in the word is judged as the word that a second pass would see.
            let armed = self.prose.reach > 0 && form::random(before).is_some();
            Some(if armed { word.start } else { at }..end)
        })
    }

    /// A token behind its scheme (`Bearer ...`), or a random word soon behind one such as "token".
    fn secret_in_prose(&self, word: Range<usize>) -> Option<Range<usize>> {
        let text = &self.bytes[word.clone()];
        let start = form::run_end(self.bytes, word.end, |b| b == b' ');
        if start > word.end
            && (text.eq_ignore_ascii_case(b"bearer") || text.eq_ignore_ascii_case(b"basic"))
        {
            let end = form::run_end(self.bytes, start, form::is_token_byte);
            let token = &self.bytes[start..end];
            // "Basic authentication" and `Bearer realm="..."` are no tokens.
            let odd =
                form::looks_opaque(token, 8) || token.len() >= 8 && form::has_inner_capital(token);
            return odd.then_some(start..end);
        }
        if self.prose.reach == 0 {
            return None;
        }
        let length = form::random(&self.bytes[word.start..])?;
        Some(word.start..word.start + length)
    }

    /// Whether a word, or it and the one before, is a credential's name, and a value stands behind it.
    fn named(&self, word: Range<usize>) -> Option<Named> {
        let text = &self.text[word.clone()];
        let first = self.bytes[..word.start].last().copied();
        let Signed {
            sign,
            value,
            spaced,
            closed,
        } = sign::behind(self.bytes, word.end, first)?;
        let quote = value::Quote::at_end(&self.bytes[..word.start]).filter(|_| !closed);
        let named = |proof, line| {
            Some(Named {
                sign,
                spaced,
                proof,
                line,
                value,
                quote,
            })
        };
        if text.eq_ignore_ascii_case("value")
            && word.start < self.listed
            && matches!(sign, Sign::Equals | Sign::Colon)
        {
            return named(Proof::None, false);
        }
        let in_prose = self.prose.before.is_some() && (sign == Sign::Colon || spaced);
        let two = self
            .prose
            .before
            .as_ref()
            .and_then(|before| name::classify(&self.text[before.start..word.end]));
        let proof = |name: Name| match (sign, name.doubt) {
            (Sign::Flag, Doubt::Never | Doubt::InProse) => self.option(word.clone(), value),
            (Sign::Said, Doubt::Never | Doubt::InProse) => {
                self.is_said(word.end, text).then_some(Proof::Odd)
            }
            (Sign::Flag | Sign::Said, _) => None,
            (_, Doubt::Always) => Some(Proof::Opaque),
            (_, Doubt::InProse) if in_prose => Some(Proof::Opaque),
            (_, Doubt::Never | Doubt::InProse) => Some(Proof::None),
            (_, Doubt::Session | Doubt::Phrase) => Some(Proof::Own(name)),
        };
        if let Some(two) = two.filter(|two| two.doubt == Doubt::Never && sign != Sign::Flag) {
            return named(proof(two)?, two.line);
        }
        if let Some(name) = name::classify(text) {
            return named(
                proof(name)?,
                name.line && !matches!(sign, Sign::Flag | Sign::Said),
            );
        }
        let query = sign == Sign::Equals && matches!(first, Some(b'?' | b'&'));
        if query
            && matches!(
                text,
                "key" | "sig" | "signature" | "code" | "X-Amz-Signature"
            )
        {
            return named(Proof::None, false);
        }
        None
    }

    /// What proves a value right behind a name, with nothing but space between.
    fn option(&self, name: Range<usize>, value: usize) -> Option<Proof> {
        let text = &self.text[name.clone()];
        let quoted = self.bytes.get(value).is_some_and(|b| value::is_quote(*b));
        let variable = text.contains('_') && !text.bytes().any(|b| b.is_ascii_lowercase());
        // `--token x`, `ENV API_KEY x`
        if text.starts_with("--") || variable {
            return Some(match (quoted, variable) {
                (true, _) => Proof::None,
                (false, true) => Proof::Odd,
                (false, false) => Proof::Opaque,
            });
        }
        // `login bob password x`, as in `.netrc`.
        let words = self.text[self.from(name.start)..name.start].split_ascii_whitespace();
        let login = words
            .rev()
            .take(8)
            .any(|word| matches!(word, "login" | "machine"));
        (login && text == "password").then_some(Proof::Odd)
    }

    /// Whether it is said what a name is: only passwords are told in prose; all stand in tables.
    fn is_said(&self, end: usize, name: &str) -> bool {
        let password = ["password", "passwd", "passphrase", "passcode", "pwd"];
        let prose = matches!(self.bytes[end..], [b' ', b'i' | b'w' | b'f' | b'o', ..]);
        !prose || password.iter().any(|word| name.eq_ignore_ascii_case(word))
    }

    /// Where what is looked back at may begin: not far, and behind what was taken out.
    fn from(&self, at: usize) -> usize {
        const LOOK_BACK: usize = 128;
        let near = self.text.ceil_char_boundary(at.saturating_sub(LOOK_BACK));
        near.max(self.wall)
    }

    /// Remembers a credential whose name is a value itself.
    fn list(&mut self, word: Range<usize>, first: Option<u8>) {
        let text = &self.text[word.clone()];
        if !["name", "key", "header", "variable"]
            .iter()
            .any(|label| text.eq_ignore_ascii_case(label))
        {
            return;
        }
        let Some(signed) = sign::behind(self.bytes, word.end, first)
            .filter(|signed| matches!(signed.sign, Sign::Equals | Sign::Colon))
        else {
            return;
        };
        let seen = &self.text[..self.text.floor_char_boundary(signed.value + LISTED)];
        let name = value::value_at(seen, signed.value, signed.sign, false, None);
        // A line may end in the escape of a break.
        let held = seen[name.clone()].split('\\').next().unwrap_or_default();
        self.listed = if name::names_credential(held) {
            name.end + LISTED
        } else {
            0
        };
    }

    /// Goes on behind the `://` of a URL.
    fn url(&mut self, start: usize) {
        let Some(secret) = form::url_secret(&self.text[start..]) else {
            return self.restart(start);
        };
        let secret = start + secret.start..start + secret.end;
        if self.text[secret.clone()] == *MARK {
            self.go_on(secret.end);
        } else {
            self.redact(secret);
        }
    }

    fn redact(&mut self, secret: Range<usize>) {
        let end = secret.end;
        self.found.push(secret);
        self.go_on(end);
    }

    /// Goes on behind a mark, or where there will be one: nothing before it is known.
    fn go_on(&mut self, at: usize) {
        self.listed = 0;
        self.wall = at;
        self.restart(at);
    }

    fn restart(&mut self, at: usize) {
        self.next = at;
        self.prose = Prose::default();
    }
}

/// What words are made of here: names of fields with their separators, and keys.
fn is_word_byte(b: u8) -> bool {
    form::is_key_byte(b) || b == b'.'
}
