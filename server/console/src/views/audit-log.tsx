import { useState } from 'preact/hooks';

import { get } from '../api/client';
import type { AuditPage, AuditRecord } from '../api/types';
import { Button, Card, Empty, Loaded, Table, Time } from '../components';
import { count } from '../format';
import { useData } from '../live';

const ROWS = 20;

/** The audit log, newest entries first. */
export function AuditLog() {
  const [before, setBefore] = useState<number>();
  const path =
    before === undefined ? `/audit?limit=${ROWS}` : `/audit?after=${Math.max(0, before - 1 - ROWS)}&limit=${Math.min(ROWS, before - 1)}`;
  const data = useData(path, (signal) => get<AuditPage>(path, signal));
  return (
    <Card
      title="Audit log"
      note="Who changed what, and from where. Each entry contains the digest of the one before; `folkmoot audit verify` checks all of them."
    >
      <Loaded data={data}>
        {(page) => {
          const records = page.entries.map((entry) => JSON.parse(entry.record) as AuditRecord).reverse();
          const oldest = records.at(-1)?.number ?? 1;
          if (records.length === 0) {
            return (
              <Empty>
                <p>Nothing has been changed yet.</p>
              </Empty>
            );
          }
          return (
            <>
              <Table
                caption="Audit log"
                rows={records}
                keyOf={(record) => record.number}
                columns={[
                  { name: 'Number', isNumber: true, show: (record) => count(record.number) },
                  { name: 'Time', show: (record) => <Time at={record.at} /> },
                  { name: 'By', show: (record) => <code>{record.by}</code> },
                  { name: 'From', show: (record) => record.from ?? 'this machine' },
                  { name: 'Action', show: (record) => <code>{record.action}</code> },
                  { name: 'Subject', show: (record) => <code>{record.subject}</code> },
                  { name: 'Changes', show: (record) => record.changes.map(changeOf).join(', ') },
                ]}
              />
              <p class="note">{count(page.entry_count)} entries so far.</p>
              {oldest > 1 && (before === undefined || oldest < before) && <Button onClick={() => setBefore(oldest)}>Older entries</Button>}
              {before !== undefined && <Button onClick={() => setBefore(undefined)}>Newest entries</Button>}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

function changeOf({ what, before, after }: AuditRecord['changes'][number]): string {
  return before === null ? `${what}: ${after ?? 'none'}` : `${what}: ${before} → ${after ?? 'none'}`;
}
