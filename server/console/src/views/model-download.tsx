import { get } from '../api/client';
import type { Population } from '../api/types';
import { NEVER, useData } from '../live';
import { may } from '../session';

interface ModelDownloadProps {
  /** The id of the task. */
  task: string;
  population: string;
  /** The number of a version, or `latest`. */
  version: number | 'latest';
  /** The name of the file. */
  file: string;
  label: string;
}

/** A link to a version as ONNX, unless the population keeps its models from this role. */
export function ModelDownload({ task, population, version, file, label }: ModelDownloadProps) {
  const isOperator = may('operator');
  // Operators need no request: they may always download.
  const data = useData('downloads', (signal) => (isOperator ? Promise.resolve([]) : get<Population[]>('/populations', signal)), NEVER);
  const isAllowed = isOperator || data.data?.some((one) => one.name === population && one.viewers_download);
  if (!isAllowed) return <span class="note">{data.data ? 'operators only' : ''}</span>;
  return (
    <a href={`/v1/admin/tasks/${task}/versions/${version}/model`} download={file} aria-label={label}>
      Download
    </a>
  );
}
