import type { Smoothing } from './smooth';

type Props = { smoothing: Smoothing; setSmoothing: (next: Smoothing) => void; isLog: boolean; setLog: (next: boolean) => void };

/** Settings of all charts of a page: smoothing and a logarithmic scale. */
export function ChartTools({ smoothing, setSmoothing, isLog, setLog }: Props) {
  return (
    <div class="chart-tools">
      <label>
        Smoothing
        <select value={smoothing} onChange={(event) => setSmoothing(event.currentTarget.value as Smoothing)}>
          <option value="off">off</option>
          <option value="light">light</option>
          <option value="strong">strong</option>
        </select>
      </label>
      <label>
        <input type="checkbox" checked={isLog} onChange={(event) => setLog(event.currentTarget.checked)} /> Logarithmic loss and change
      </label>
      <span class="hint">Drag across a chart to zoom in.</span>
    </div>
  );
}
