import { get } from '../../api/client';
import type { RoundStats, Task } from '../../api/types';
import { Card, Loaded, Table } from '../../components';
import { bytes, count } from '../../format';
import { useData } from '../../live';

interface Sum {
  codec: string;
  network: string;
  updates: number;
  uploaded: number;
  float32: number;
  downloaded: number;
}

/** The traffic of the last rounds' updates, by codec and network. */
export function Traffic({ task }: { task: Task }) {
  const data = useData(`stats ${task.id}`, (signal) => get<RoundStats[]>(`/tasks/${task.id}/stats?limit=100`, signal), task.id);
  return (
    <Card
      title="Bytes by codec"
      note="Traffic of the last 100 rounds. Private tasks are not counted, because the length of a compressed update depends on its values."
    >
      <Loaded data={data}>
        {(stats) => {
          const sums = added(stats);
          if (sums.length === 0) return <p class="note">No updates were counted yet.</p>;
          return (
            <Table
              caption="Bytes by codec and network"
              rows={sums}
              keyOf={(sum) => `${sum.codec} ${sum.network}`}
              columns={[
                { name: 'Codec', show: (sum) => <code>{sum.codec}</code> },
                { name: 'Network', show: (sum) => sum.network },
                { name: 'Updates', isNumber: true, show: (sum) => count(sum.updates) },
                { name: 'Sent', isNumber: true, show: (sum) => bytes(sum.uploaded) },
                { name: 'As float32', isNumber: true, show: (sum) => bytes(sum.float32) },
                {
                  name: 'Compression',
                  isNumber: true,
                  show: (sum) => (sum.uploaded > 0 ? `${(sum.float32 / sum.uploaded).toFixed(1)} times` : '–'),
                },
                { name: 'Downloaded', isNumber: true, show: (sum) => bytes(sum.downloaded) },
              ]}
            />
          );
        }}
      </Loaded>
    </Card>
  );
}

function added(stats: RoundStats[]): Sum[] {
  const sums = new Map<string, Sum>();
  for (const { codec, network, traffic } of stats.flatMap((round) => round.classes)) {
    const key = `${codec} ${network}`;
    const sum = sums.get(key) ?? { codec, network, updates: 0, uploaded: 0, float32: 0, downloaded: 0 };
    sum.updates += traffic.updates;
    sum.uploaded += traffic.upload_bytes;
    sum.float32 += traffic.float32_bytes;
    sum.downloaded += traffic.download_bytes;
    sums.set(key, sum);
  }
  return [...sums.values()].sort((one, other) => other.uploaded - one.uploaded);
}
