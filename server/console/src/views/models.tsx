import { useState } from 'preact/hooks';

import { get, upload } from '../api/client';
import { joined } from '../api/model-file';
import type { Model, ModelGraph, ModelSummary } from '../api/types';
import { Ago, Button, Card, Empty, ErrorNote, Facts, Id, Link, Loaded, Page, Table } from '../components';
import { bytes, count, flops } from '../format';
import { NEVER, useData } from '../live';
import { go } from '../router';
import { may } from '../session';
import { Lineage } from './lineage';

export default function ModelsView({ parameters: [digest] }: { parameters: string[] }) {
  return digest ? <OneModel digest={digest} /> : <AllModels />;
}

function AllModels() {
  const data = useData('models', (signal) => get<ModelSummary[]>('/models', signal));
  return (
    <Page title="Models">
      {may('operator') && (
        <Card title="Upload a model">
          <Bring done={(model) => go(`/models/${model.model}`)} />
        </Card>
      )}
      <Loaded data={data}>
        {(models) =>
          models.length === 0 ? (
            <Empty>
              <h2>There are no models yet</h2>
              <p>
                A model is an ONNX file that tasks train. Upload any file whose operators can be trained;{' '}
                <code>folkmoot engine check model.onnx</code> tells before. This list will show its parameters and size, and its page the
                graph and the cost of a training step.
              </p>
            </Empty>
          ) : (
            <Table
              caption="Models, newest first"
              rows={models}
              keyOf={(model) => model.model}
              columns={[
                {
                  name: 'Model',
                  show: (model) => (
                    <Link to={`/models/${model.model}`}>
                      <Id id={model.model} />
                    </Link>
                  ),
                },
                { name: 'Name', show: (model) => model.name ?? '–' },
                { name: 'Parameters', isNumber: true, show: (model) => count(model.parameter_count) },
                { name: 'File', isNumber: true, show: (model) => bytes(model.model_bytes) },
                { name: 'Uploaded', show: (model) => <Ago at={model.created_at} /> },
                ...(may('operator')
                  ? [{ name: 'Task', show: (model: ModelSummary) => <Link to={`/tasks/new?model=${model.model}`}>Create a task</Link> }]
                  : []),
              ]}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

/** Uploads an ONNX file, with the data files of its weights if it has any. */
export function Bring({ done }: { done: (model: Model) => void }) {
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const bring = async (input: HTMLInputElement) => {
    const files = [...(input.files ?? [])];
    if (files.length === 0) return;
    setBusy(true);
    setError(undefined);
    try {
      const name = files.find((file) => file.name.endsWith('.onnx'))?.name.replace(/\.onnx$/, '');
      done(await upload<Model>(`/models${name ? `?name=${encodeURIComponent(name)}` : ''}`, await joined(files)));
    } catch (caught) {
      setError(caught as Error);
      input.value = '';
    }
    setBusy(false);
  };
  return (
    <>
      <label class="file">
        ONNX file
        <input type="file" multiple disabled={isBusy} onChange={(event) => void bring(event.currentTarget)} />
      </label>
      <p class="note">If its exporter wrote weights to a second file, such as model.onnx.data, choose both together.</p>
      {isBusy && (
        <p class="note" role="status">
          Reading and checking the file…
        </p>
      )}
      {error && <ErrorNote error={error} />}
    </>
  );
}

function OneModel({ digest }: { digest: string }) {
  const models = useData('models', (signal) => get<ModelSummary[]>('/models', signal), NEVER);
  const own = models.data?.find((model) => model.model.startsWith(digest) || model.name === digest);
  return (
    <Page
      title={own?.name ?? 'Model'}
      actions={
        may('operator') && (
          <Button kind="primary" onClick={() => go(`/tasks/new?model=${digest}`)}>
            Create a task
          </Button>
        )
      }
    >
      <Loaded data={models}>{() => own && <Lineage model={own.model} />}</Loaded>
      <ModelFacts digest={digest} isWhole />
    </Page>
  );
}

function dims(shape: number[]): string {
  return `[batch${shape.map((size) => `, ${size}`).join('')}]`;
}

/** Returns the length of sequences that the figures assume, if the file leaves it free. */
function lengths(graph: ModelGraph): number[] {
  return graph.inputs.flatMap(({ shape, length_axis }) => (length_axis == null ? [] : (shape[length_axis] ?? []))).slice(0, 1);
}

/** The contents and cost of a model. */
export function ModelFacts({ digest, isWhole = false }: { digest: string; isWhole?: boolean }) {
  const data = useData(`graph ${digest}`, (signal) => get<ModelGraph>(`/models/${digest}/graph`, signal), NEVER);
  return (
    <Loaded data={data}>
      {(graph) => (
        <>
          <Card title="Model">
            <Facts
              facts={[
                ['Digest', <code class="break">{digest}</code>],
                ['Input', dims(graph.input_shape)],
                ...(graph.inputs.length > 1
                  ? [
                      ['Columns of the input', graph.inputs.map(({ name, shape }) => `${name} ${dims(shape)}`).join(', ')] as [
                        string,
                        string,
                      ],
                    ]
                  : []),
                ...lengths(graph).map((length): [string, string] => [
                  'Length of sequences',
                  `free: each client's examples determine it; the figures here are for ${length}`,
                ]),
                ['Output', dims(graph.output_shape)],
                ['Parameters', count(graph.parameter_count)],
                ['File', bytes(graph.model_bytes)],
                ['Prediction, one example', flops(graph.forward_flops)],
                ['Training step, one example', flops(graph.training_flops)],
                [
                  'Operators',
                  Object.entries(graph.operators)
                    .map(([name, number]) => `${name} ${number}`)
                    .join(', '),
                ],
              ]}
            />
          </Card>
          {isWhole ? (
            <Graph graph={graph} />
          ) : (
            <details class="card">
              <summary>Graph and tensors</summary>
              <Graph graph={graph} />
            </details>
          )}
        </>
      )}
    </Loaded>
  );
}

function Graph({ graph }: { graph: ModelGraph }) {
  const shapes = new Map(graph.parameters.map((parameter) => [parameter.name, parameter.shape]));
  const weights = (inputs: string[]) =>
    inputs
      .filter((name) => shapes.has(name))
      .map((name) => `${name} [${shapes.get(name)?.join(', ')}]`)
      .join(', ');
  return (
    <>
      <Card title="Graph" note="The nodes in the order of the file, each with its weights.">
        <ol class="graph">
          {graph.nodes.map((node, index) => (
            <li key={index}>
              <strong>{node.operator}</strong>
              <span>{weights(node.inputs)}</span>
              <small>
                {node.inputs.filter((name) => name && !shapes.has(name)).join(', ')} → {node.outputs.join(', ')}
              </small>
            </li>
          ))}
        </ol>
      </Card>
      <Card title="Tensors">
        <Table
          caption="Tensors of the weights"
          rows={graph.parameters}
          keyOf={(parameter) => parameter.name}
          columns={[
            { name: 'Name', show: (parameter) => <code>{parameter.name}</code> },
            { name: 'Shape', show: (parameter) => `[${parameter.shape.join(', ')}]` },
            { name: 'Values', isNumber: true, show: (parameter) => count(parameter.shape.reduce((product, size) => product * size, 1)) },
            { name: 'Role', show: (parameter) => parameter.role },
          ]}
        />
      </Card>
    </>
  );
}
