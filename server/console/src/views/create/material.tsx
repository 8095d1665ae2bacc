import { useState } from 'preact/hooks';

const MATERIALS = [
  {
    name: 'a table',
    text: 'Derive a schema first: it says how each column becomes numbers, and how many inputs the model needs. Then export a model with that many inputs to ONNX. The guide “From a table to a trained model” shows every step.',
    command: 'folkmoot data schema table.csv --label-column outcome --exclude id --out table.schema.json',
  },
  {
    name: 'images',
    text: 'Export a network from PyTorch or another framework to ONNX, with a free batch dimension and images such as [batch, 3, 64, 64]. A small convolutional network is a good start. The guide “From a PyTorch module” shows it.',
    command: 'folkmoot engine inspect model.onnx',
  },
  {
    name: 'text',
    text: 'Turn text into token numbers in your app. Export a network whose input is [batch, length]; the length may stay free, so that clients can have texts of any length.',
    command: 'folkmoot engine inspect model.onnx',
  },
  {
    name: 'an ONNX model',
    text: 'Upload it. The coordinator checks that every operator can be trained, and shows its inputs, parameters and cost.',
    command: 'folkmoot engine check model.onnx',
  },
];

/** Leads from the user's data to an ONNX model. */
export function Material() {
  const [chosen, setChosen] = useState('an ONNX model');
  const material = MATERIALS.find(({ name }) => name === chosen);
  return (
    <div class="material">
      <div class="switch" role="group" aria-label="I have">
        {MATERIALS.map(({ name }) => (
          <button key={name} type="button" aria-pressed={name === chosen} onClick={() => setChosen(name)}>
            I have {name}
          </button>
        ))}
      </div>
      {material && (
        <p class="note">
          {material.text} <code>{material.command}</code>
        </p>
      )}
    </div>
  );
}
