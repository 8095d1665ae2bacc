use super::{flower::FlowerRow, measured::Measured, rows::Row};

const MIB: f64 = (1 << 20) as f64;

/// Prints the measurements as tables.
pub fn print(measured: &Measured) {
    println!(
        "{} threads. ChaCha20 alone: {:.2} GB per CPU second. The benchmark took {:.0} s.\n",
        measured.threads,
        measured.cipher_bytes_per_second / 1e9,
        measured.seconds
    );
    print_rows(&measured.rows);
    println!();
    match &measured.left_out {
        Some(reason) => println!("Flower is left out: {reason}"),
        None => print_flower(&measured.flower),
    }
    println!();
    print_committee(measured);
}

fn print_rows(rows: &[Row]) {
    println!(
        "clients   values  vanish  neighb.  bits  client s  update  messages    masks  recover s  unmask s  of cipher  \
         CPU ms/update  peak MiB  sum MiB"
    );
    for row in rows {
        println!(
            "{:7}  {:7}  {:4.0} %  {:7}  {:4}  {:8.3}  {:6.3}  {:5.1} kB  {:7}  {:9.3}  {:8.3}  {:7.0} %  {:13.2}  {:8.1}  {:7.1}",
            row.cohort,
            row.values,
            row.drop_out * 100.0,
            row.neighbours,
            row.ring_bits,
            row.client_seconds,
            row.update_ratio,
            row.message_bytes as f64 / 1e3,
            row.report.masks,
            row.report.recover_seconds,
            row.report.unmask_seconds,
            row.unmask_bandwidth * 100.0,
            row.coordinator_seconds_per_update * 1e3,
            row.report.peak_bytes as f64 / MIB,
            row.sum_bytes as f64 / MIB,
        );
    }
}

fn print_flower(rows: &[FlowerRow]) {
    let Some(first) = rows.first() else { return };
    println!("Flower {}: CPU ms of the server per update, and of a client", first.flower.version);
    println!(
        "clients   values  vanish  neighb.  threshold  server, ours  Flower's   ratio  client, ours  Flower's   ratio"
    );
    for row in rows {
        let FlowerRow { ours, flower, server_ratio, client_ratio } = row;
        println!(
            "{:7}  {:7}  {:4.0} %  {:7}  {:9}  {:12.2}  {:8.1}  {:6.1}  {:12.1}  {:8.1}  {:6.1}",
            ours.cohort,
            ours.values,
            ours.drop_out * 100.0,
            ours.neighbours,
            ours.threshold,
            ours.coordinator_seconds_per_update * 1e3,
            flower.server_seconds_per_update * 1e3,
            server_ratio,
            ours.client_seconds * 1e3,
            flower.client_seconds * 1e3,
            client_ratio,
        );
    }
}

fn print_committee(measured: &Measured) {
    println!("members  collude   values  masks  client s  update");
    for row in &measured.committee_clients {
        println!(
            "{:7}  {:7}  {:7}  {:5}  {:8.3}  {:6.3}",
            row.members, row.colluders, row.values, row.masks, row.client_seconds, row.update_ratio
        );
    }
    println!("\nmembers  collude  clients   values  masks  decrypt s   sum s  wall s  of cipher");
    for row in &measured.committee_members {
        println!(
            "{:7}  {:7}  {:7}  {:7}  {:5}  {:9.3}  {:6.3}  {:6.3}  {:7.0} %",
            row.members,
            row.colluders,
            row.clients,
            row.values,
            row.masks,
            row.decrypt_seconds,
            row.sum_seconds,
            row.sum_wall_seconds,
            row.sum_bandwidth * 100.0
        );
    }
}
