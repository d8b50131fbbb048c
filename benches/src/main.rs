//! `highwater-load`: puts load on a broker and prints what it did.

#![allow(
    clippy::print_stdout,
    reason = "the result is what this program is for"
)]

mod arguments;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use highwater_benches::cluster::{self, EARLIEST, LATEST};
use highwater_benches::histogram::Histogram;
use highwater_benches::report::Report;
use highwater_benches::usage::Usage;
use highwater_benches::window::watch;
use highwater_benches::{LoadError, e2e, fetch, produce, start, tail};

use crate::arguments::{
    Arguments, CreateArguments, E2eArguments, FetchArguments, Load, ProduceArguments,
    StartArguments, TailArguments,
};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.load {
        Load::Produce(load) | Load::Requests(load) => run_produce(load),
        Load::Fetch(load) => run_fetch(load),
        Load::Tail(load) => run_tail(load),
        Load::E2e(load) => run_e2e(load),
        Load::CreateTopics(load) => run_create(load),
        Load::Start(load) => run_start(load),
        Load::Usage(load) => Usage::of(load.pid).map(|usage| {
            let mut report = Report::new("usage");
            report
                .number("cpu_s", usage.cpu_seconds, "s")
                .number("rss_mib", usage.rss_mib, "MiB")
                .number("anon_mib", usage.anon_mib, "MiB");
            report
        }),
    };
    match result {
        Ok(report) if arguments.json => println!("{}", report.json()),
        Ok(report) => println!("{}", report.line()),
        Err(error) => {
            eprintln!("highwater-load: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn latencies(report: &mut Report, keys: [&'static str; 4], histogram: &Histogram) {
    let [p50, p99, p999, max] = keys;
    report
        .number(p50, histogram.percentile_ms(0.5), "ms")
        .number(p99, histogram.percentile_ms(0.99), "ms")
        .number(p999, histogram.percentile_ms(0.999), "ms")
        .number(max, histogram.max_ms(), "ms");
}

const PLAIN: [&str; 4] = ["p50_ms", "p99_ms", "p999_ms", "max_ms"];

fn run_produce(load: &ProduceArguments) -> Result<Report, LoadError> {
    let plan = load.plan()?;
    let running = produce::start(&plan)?;
    let window = watch(&running.progress, load.span.span(), running.threads());
    let histogram = running.join()?;
    let mut report = Report::new("produce");
    window?.report(&mut report);
    latencies(&mut report, PLAIN, &histogram);
    Ok(report)
}

fn run_fetch(load: &FetchArguments) -> Result<Report, LoadError> {
    let led = cluster::leaders(&load.target.bootstrap, &load.target.topic)?;
    let from = cluster::offsets(&led, &load.target.topic, EARLIEST)?;
    let until = cluster::offsets(&led, &load.target.topic, LATEST)?;
    let plan = load.plan(led, from, Some(until));
    let running = fetch::start(&plan)?;
    let window = watch(&running.progress, load.span.span(), running.threads());
    let histogram = running.join()?;
    let mut report = Report::new("fetch");
    window?.report(&mut report);
    latencies(&mut report, PLAIN, &histogram);
    Ok(report)
}

fn run_tail(load: &TailArguments) -> Result<Report, LoadError> {
    let producers = load.produce.plan()?;
    let topic = &load.produce.target.topic;
    let from = cluster::offsets(&producers.led, topic, LATEST)?;
    let consumers = load.consumers_plan(&producers, from);
    let outcome = tail::run(&consumers, &producers, load.produce.span.span())?;
    let mut report = Report::new("tail");
    outcome.consumed.report(&mut report);
    report.count("produced_bytes", outcome.produced_bytes);
    latencies(&mut report, PLAIN, &outcome.fetches);
    let keys = [
        "produce_p50_ms",
        "produce_p99_ms",
        "produce_p999_ms",
        "produce_max_ms",
    ];
    latencies(&mut report, keys, &outcome.produces);
    Ok(report)
}

fn run_e2e(load: &E2eArguments) -> Result<Report, LoadError> {
    let led = cluster::leaders(&load.target.bootstrap, &load.target.topic)?;
    let plan = e2e::Plan {
        topic: load.target.topic.clone(),
        led,
        rate: load.rate,
        warmup: load.span.warmup(),
        measured: load.span.measured(),
        record_bytes: load.record_bytes,
        acks: load.acks.code(),
        broker: load.span.broker_pid,
    };
    let outcome = e2e::run(&plan)?;
    let mut report = Report::new("e2e");
    report.count("messages", outcome.arrivals.count());
    latencies(&mut report, PLAIN, &outcome.arrivals);
    latencies(
        &mut report,
        ["ack_p50_ms", "ack_p99_ms", "ack_p999_ms", "ack_max_ms"],
        &outcome.acks,
    );
    latencies(
        &mut report,
        ["late_p50_ms", "late_p99_ms", "late_p999_ms", "late_max_ms"],
        &outcome.lateness,
    );
    if let Some(cpu) = outcome.cpu_seconds_per_message {
        report.number("broker_cpu_s_mrec", cpu * 1e6, "CPU s/M messages");
    }
    Ok(report)
}

fn run_create(load: &CreateArguments) -> Result<Report, LoadError> {
    let bootstrap = &load.target.bootstrap;
    let names: Vec<String> = match load.topics {
        1 => vec![load.target.topic.clone()],
        count => (0..count)
            .map(|at| format!("{}-{at}", load.target.topic))
            .collect(),
    };
    if load.delete {
        names
            .iter()
            .try_for_each(|name| cluster::delete(bootstrap, name))?;
    }
    let start = Instant::now();
    for some in names.chunks(load.topics_per_request.max(1)) {
        cluster::create(bootstrap, some, load.partitions, &load.configs)?;
    }
    let answered = start.elapsed();
    for name in &names {
        cluster::leaders(bootstrap, name)?;
    }
    let led = start.elapsed();
    let partitions = names.len() as f64 * f64::from(load.partitions);
    let mut report = Report::new("create-topics");
    report
        .count("topics", names.len() as u64)
        .number("answered_ms", answered.as_secs_f64() * 1e3, "ms")
        .number("led_ms", led.as_secs_f64() * 1e3, "ms")
        .number(
            "partitions_s",
            partitions / answered.as_secs_f64(),
            "partitions/s",
        );
    Ok(report)
}

fn run_start(load: &StartArguments) -> Result<Report, LoadError> {
    let plan = start::Plan {
        bootstrap: load.target.bootstrap.clone(),
        topic: load.target.topic.clone(),
        all_partitions: load.all_partitions,
        limit: Duration::from_secs(load.limit_seconds),
    };
    let begin = Instant::now();
    // The broker outlives this program: whoever started it asks for its process id.
    let child = match load.command.is_empty() {
        true => None,
        false => Some(start::spawn(&load.command)?),
    };
    let outcome = start::wait(&plan, begin)?;
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let mut report = Report::new("start");
    report
        .number("connected_ms", ms(outcome.connected), "ms")
        .number("acknowledged_ms", ms(outcome.acknowledged), "ms")
        .number("answered_ms", ms(outcome.answered), "ms")
        .count("partitions", outcome.partitions as u64);
    if let Some(child) = child {
        report.count("pid", u64::from(child.id()));
    }
    Ok(report)
}
