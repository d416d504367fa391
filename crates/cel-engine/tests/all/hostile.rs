//! Expressions that try to take all the time, all the memory or all the stack.

#![expect(clippy::disallowed_methods, reason = "a test reads files and clocks")]

use cel_engine::Stop;
use cel_engine::{Activation, EvalError, Program};
use serde_json::{Value, json};
use std::time::Instant;

fn object() -> Value {
    let list: Vec<i64> = (0..3000).collect();
    let texts: Vec<String> = (0..500).map(|at| format!("{at}-{}", "y".repeat(500))).collect();
    let maps: Vec<Value> = (0..9000)
        .map(|at| json!({"name": format!("m{at}"), "group": "g", "at": at}))
        .collect();
    json!({"list": list, "maps": maps, "texts": texts, "text": "x".repeat(200_000), "words": "ab ".repeat(60_000)})
}

/// Evaluates in a thread with as much stack as servers give theirs.
fn eval(source: &str, object: &Value) -> Result<Value, String> {
    let (source, object) = (source.to_owned(), object.clone());
    // An overflow names the thread, and so the expression.
    let name: String = source.chars().filter(|letter| *letter != '\0').take(40).collect();
    let thread = std::thread::Builder::new().name(name).stack_size(2 * 1024 * 1024);
    let run = move || Program::compile(&source)?.eval(&[("object", &object)]);
    let ended = thread.spawn(run).map_err(|error| error.to_string())?.join();
    ended.unwrap_or_else(|_| Err("the thread panicked".to_owned()))
}

#[test]
fn no_expression_exceeds_its_budget() {
    let object = object();
    let rows = [
        // loops in loops
        "object.list.all(a, object.list.all(b, a + b >= 0))",
        "object.list.map(a, object.list.map(b, object.list.map(c, a))).size() > 0",
        "object.list.all(i, a, object.list.all(j, b, i + j >= 0))",
        "object.list.transformMap(i, a, object.list.transformList(j, b, a + b)).size() > 0",
        "object.list.exists(a, object.list == object.list.map(b, b + 1))",
        "lists.range(1000000).all(a, a >= 0) && lists.range(1000000).all(a, a >= 0)",
        "lists.range(999999).map(a, lists.range(999999)).size() > 0",
        // what grows
        "object.text.replace('x', object.text).size() > 0",
        "object.text.replace('', object.text).size() > 0",
        "object.list.map(a, object.text + object.text).join('').size() > 0",
        "object.list.map(a, string(a)).join(object.text).size() > 0",
        "object.list.map(a, '%s%s%s%s'.format([object.text, object.text, object.text, object.text])).size() > 0",
        "cel.bind(a, object.text + object.text, cel.bind(b, a + a + a + a + a + a + a + a, \
         cel.bind(c, b + b + b + b + b + b + b + b, cel.bind(d, c + c + c + c + c + c + c + c, d.size() > 0))))",
        "cel.bind(a, object.list + object.list, cel.bind(b, a + a + a + a + a + a + a + a, \
         cel.bind(c, b + b + b + b + b + b + b + b, cel.bind(d, c + c + c + c + c + c + c + c, d.size() > 0))))",
        "object.list.map(a, object.list).flatten().map(a, a).size() > 0",
        "object.list.map(a, bytes(object.text)).size() > 0",
        "object.list.map(a, strings.quote(object.text)).size() > 0",
        "object.list.map(a, object.text.split('')).size() > 0",
        // patterns
        "object.list.exists(a, object.text.matches('y+z')) || true",
        "object.list.exists(a, ('p' + string(a)).matches('q' + string(a) + '(\\\\w{50}){2}'))",
        "object.text.matches('(x+x+)+(x{100}){100}y' + object.list.map(a, 'z').join(''))",
        "object.words.matches('(a|b| )*a(a|b| ){1000}$') || object.words.matches('(a|b| )*b(a|b| ){1000}$')",
        "object.words.findAll('[ab ]{0,900}c|a').size() > 0",
        // comparing
        "object.texts.map(a, object.texts).distinct().size() > 0",
        "object.list.all(a, object.texts.distinct().size() > 0)",
        "object.list.all(a, object.texts.sort().size() > 0)",
        "object.list.all(a, object.texts.sortBy(t, t).size() > 0)",
        "object.list.all(a, sets.contains(object.texts, object.texts))",
        "object.list.all(a, sets.equivalent(object.list, object.list))",
        "object.list.all(a, !(object.text in object.texts))",
        "object.list.all(a, object.text.indexOf('y') == -1 && object.text.lastIndexOf('xy') == -1)",
        "object.list.all(a, object.texts.indexOf('nope') == -1)",
        // errors that a later item might still override, each after a copy
        "object.maps.all(a, object.?maps.orValue([]).exists_one(b, b == a))",
        "object.maps.exists(a, !object[?'maps'].orValue([]).exists_one(b, b == a))",
        "object.maps.all(a, object.maps.exists(b, object.?maps.orValue([]).size() == 0))",
        "object.maps.exists(i, a, object.?maps.orValue([]).map(b, b.name).size() < i)",
        // copies behind optional values
        "object.list.all(a, object.?texts.hasValue())",
        "object.list.all(a, object[?'texts'].hasValue())",
        "cel.bind(o, optional.of(object), object.list.all(a, o.texts.hasValue()))",
        "object.list.all(a, optional.of(object).or(optional.none()).hasValue())",
        "object.list.all(a, cel.bind(copy, object, copy.list.size() > 0))",
    ];
    for source in rows {
        let start = Instant::now();
        assert_eq!(
            eval(source, &object),
            Err("operation cancelled: actual cost limit exceeded".to_owned()),
            "{source}"
        );
        // Generous: unoptimized, and next to other tests. A budget that leaks takes minutes.
        assert!(
            start.elapsed().as_secs() < 20,
            "{source} took {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn honest_work_fits() {
    let object = object();
    for source in [
        "object.list.all(a, a >= 0) && object.list.exists(a, a == 2999)",
        "object.texts.all(t, t.matches('^[0-9]+-y+$'))",
        "object.texts.exists(t, t.startsWith('499-'))",
        "object.words.substring(0, 3000).findAll('a').size() == 1000",
        "object.texts.map(t, t.size()).max() == 504",
        "object.texts.distinct().size() == 500 && object.texts.sort().size() == 500",
        "object.text.replace('x', 'yy').size() == 400000",
    ] {
        assert_eq!(eval(source, &object), Ok(json!(true)), "{source}");
    }
}

#[test]
fn an_absorbed_overrun_is_an_overrun() {
    let object = object();
    for source in [
        "true || object.list.all(a, object.list.all(b, a + b >= 0))",
        "object.list.all(a, object.list.all(b, a + b >= 0)) || true",
    ] {
        let early = source.starts_with("true");
        assert_eq!(eval(source, &object).is_ok(), early, "{source}");
    }
}

#[test]
fn nothing_takes_the_stack() {
    let object = object();
    let rows = [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{1:", "1", "}"),
        ("1+", "1", ""),
        ("1-", "1", ""),
        ("1*", "1", ""),
        ("1/", "1", ""),
        ("1%", "1", ""),
        ("", "a", "*a"),
        ("", "a", ".b"),
        ("", "object", "[0]"),
        ("", "object", ".?b"),
        ("", "object['a'].b", ".b"),
        ("", "object['a'] || object['b'].c", ".c"),
        ("", "[object][0]", ".b"),
        ("true?1:", "1", ""),
        ("true?", "1", ":1"),
        ("!", "true", ""),
        ("-", "1", ""),
        ("-(", "1", ")"),
        ("true&&", "true", ""),
        ("true&&(", "true", ")"),
        ("false||", "true", ""),
        ("[1].all(x,", "true", ")"),
        ("[1].all(x,y,", "true", ")"),
        ("cel.bind(x,1,", "true", ")"),
        ("int(", "1", ")"),
        ("1 in ", "[1]", ""),
        ("1<", "1", ""),
        ("'", "a", "'+"),
        ("Object{a:", "1", "}"),
        ("\"", "", ""),
        ("`", "a", "`"),
        ("//", "", "\n"),
    ];
    for (open, core, close) in rows {
        for times in [10, 24, 26, 27, 28, 40, 57, 60, 80, 140, 150, 700, 3000] {
            let source = format!("{}{core}{}", open.repeat(times), close.repeat(times));
            // Whatever comes of it, it comes.
            let outcome = eval(&source, &object);
            assert_ne!(outcome, Err("the thread panicked".to_owned()), "{source}");
        }
    }
}

#[test]
fn variables_that_wait_for_each_other_stay_within_the_stack() {
    let names: Vec<String> = (0..2000).map(|at| format!("v{at}")).collect();
    let mut programs = vec![Program::compile("1").expect("it compiles")];
    for name in names.iter().take(1999) {
        programs
            .push(Program::compile(&format!("[variables.{name}].map(x, x + 0)[0]")).expect("it compiles"));
    }
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let run = move || {
        let mut activation = Activation::new(1_000_000);
        for (name, program) in names.iter().zip(&programs) {
            activation.declare(name, program);
        }
        let near = Program::compile("variables.v3").expect("it compiles");
        let far = Program::compile("variables.v1999").expect("it compiles");
        (activation.eval(&near), activation.eval(&far))
    };
    let (near, far) = thread.spawn(run).expect("a thread").join().expect("no panic");
    assert_eq!((near, far), (Ok(json!(1)), Ok(json!(1))));
}

#[test]
fn a_signal_to_stop_ends_every_evaluation() {
    let object = object();
    let program = Program::compile("object.list.all(a, a >= 0)").expect("it compiles");
    let stop = Stop::new();
    let mut activation = Activation::until(5_000_000, &stop);
    activation.bind("object", &object);
    assert_eq!(activation.holds(&program), Ok(true));
    stop.stop();
    assert_eq!(activation.holds(&program), Err(EvalError::Stopped));
    assert_eq!(
        activation.inner(5_000_000).holds(&program),
        Err(EvalError::Stopped)
    );
}

#[test]
fn every_profile_keeps_the_stack_of_the_evaluator_small() {
    // Optimized for speed, one level of an expression takes 150 KiB: fifteen nested calls would end the process.
    let manifest = include_str!("../../../../Cargo.toml");
    for profile in ["release", "dev"] {
        let section = format!("[profile.{profile}.package.cel]\n");
        let (_, rest) = manifest
            .split_once(&section)
            .unwrap_or_else(|| panic!("{section}"));
        let body = rest.split('[').next().unwrap_or_default();
        assert!(body.contains("opt-level = \"s\""), "{section}{body}");
    }
}
