/** A form that is generated from the schema, so it supports every key of a task file that the coordinator supports. */

import { useState } from 'preact/hooks';

import type { Fault } from '../../api/types';
import { Button, Field } from '../../components';
import { words } from '../../format';
import { beginning, ofVariant, optional, resolved, type Schema, variantOf, variants } from './schema';

type Change = (value: unknown) => void;
type Props = { name: string; path: string; schema: Schema; value: unknown; change: Change; faults: Fault[]; isRequired: boolean };

const FIRST = ['stop', 'scheduling', 'plan', 'population', 'name'];

/** The faults of a field, including the faults of keys below it that have no field of their own. */
function faultAt(faults: Fault[], path: string, isLeaf: boolean): string | undefined {
  const here = faults.filter((fault) => fault.field === path || (isLeaf && fault.field.startsWith(`${path}.`)));
  return here.length > 0 ? here.map((fault) => `${fault.message}; ${fault.remedy}.`).join(' ') : undefined;
}

/** The fields for all keys of a table. Optional keys can be added and removed. */
export function Fields({
  path,
  schema,
  value,
  change,
  faults,
}: {
  path: string;
  schema: Schema;
  value: Record<string, unknown>;
  change: Change;
  faults: Fault[];
}) {
  const names = Object.keys(schema.properties ?? {}).filter((name) => name !== 'kind');
  // Keys that every task needs come first; the schema lists keys alphabetically.
  if (path === '') names.sort((a, b) => FIRST.indexOf(b) - FIRST.indexOf(a));
  const isHere = (name: string) => schema.required?.includes(name) || (value[name] !== undefined && value[name] !== null);
  const set = (name: string, next: unknown) => {
    const { [name]: _, ...rest } = value;
    change(next === undefined ? rest : { ...value, [name]: next });
  };
  const open = names.filter(isHere);
  const rest = names.filter((name) => !isHere(name));
  const at = (name: string) => (path ? `${path}.${name}` : name);
  return (
    <>
      {open.map((name) => (
        <One
          key={name}
          name={name}
          path={at(name)}
          schema={schema.properties?.[name] ?? {}}
          value={value[name]}
          change={(next) => set(name, next)}
          faults={faults}
          isRequired={schema.required?.includes(name) ?? false}
        />
      ))}
      {rest.length > 0 && (
        <Add
          names={rest}
          schema={schema}
          path={path}
          add={(name) => set(name, beginning(schema.properties?.[name] ?? {}) ?? firstOf(schema.properties?.[name] ?? {}))}
        />
      )}
    </>
  );
}

/** The initial value of a key that the user adds. It is never null. */
function firstOf(schema: Schema): unknown {
  const { inner } = optional(resolved(schema));
  const value = beginning(inner);
  return value === null || value === undefined ? '' : value;
}

function Add({ names, schema, path, add }: { names: string[]; schema: Schema; path: string; add: (name: string) => void }) {
  const [chosen, setChosen] = useState('');
  const described = chosen && resolved(schema.properties?.[chosen] ?? {}).description;
  return (
    <div class="add">
      <label>
        More settings{path ? ` of ${path}` : ''}
        <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
          <option value="">{names.length} at their defaults</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {words(name)}
            </option>
          ))}
        </select>
      </label>
      <Button
        disabled={!chosen}
        onClick={() => {
          add(chosen);
          setChosen('');
        }}
      >
        Set
      </Button>
      {described && <p class="hint">{described}</p>}
    </div>
  );
}

function One(props: Props) {
  const { name, path, value, change, faults, isRequired } = props;
  const { inner: schema } = optional(resolved(props.schema));
  const shapes = variants(schema);
  const remove = isRequired ? null : (
    <Button label={`Default for ${path}`} onClick={() => change(undefined)}>
      Default
    </Button>
  );
  const isTable = shapes.some((shape) => shape.kind !== 'word') || schema.properties !== undefined;
  if (!isTable) return <Leaf {...props} schema={schema} remove={remove} />;
  const fault = faultAt(faults, path, false);
  return (
    <fieldset class="setting">
      <legend>{words(name)}</legend>
      {remove}
      {schema.description && <p class="hint">{schema.description}</p>}
      {fault && <p class="fault">{fault}</p>}
      {shapes.length > 0 ? (
        <Choice name={name} path={path} schema={schema} value={value} change={change} faults={faults} />
      ) : (
        <Fields path={path} schema={schema} value={(value ?? {}) as Record<string, unknown>} change={change} faults={faults} />
      )}
    </fieldset>
  );
}

/** A choice between several shapes of a value, with the fields of the chosen shape. */
function Choice({ name, path, schema, value, change, faults }: Omit<Props, 'isRequired'>) {
  const shapes = variants(schema);
  const chosen = variantOf(shapes, value);
  const choose = (next: string) => {
    const shape = shapes.find((one) => one.name === next);
    if (shape) change(ofVariant(shape));
  };
  const record = (value ?? {}) as Record<string, unknown>;
  const inner = chosen ? resolved(chosen.schema) : {};
  return (
    <>
      <Field label={`Kind of ${words(name)}`} hint={chosen?.description}>
        {(field) => (
          <select {...field} name={`${path}.kind`} value={chosen?.name ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
            {!chosen && <option value="">choose</option>}
            {shapes.map((shape) => (
              <option key={shape.name} value={shape.name}>
                {words(shape.name)}
              </option>
            ))}
          </select>
        )}
      </Field>
      {chosen?.kind === 'tagged' && (
        <Fields
          path={path}
          schema={inner}
          value={record}
          change={(next) => change({ ...(next as object), kind: chosen.name })}
          faults={faults}
        />
      )}
      {chosen?.kind === 'wrapped' && inner.properties && (
        <Fields
          path={`${path}.${chosen.name}`}
          schema={inner}
          value={(record[chosen.name] ?? {}) as Record<string, unknown>}
          change={(next) => change({ [chosen.name]: next })}
          faults={faults}
        />
      )}
      {chosen?.kind === 'wrapped' && !inner.properties && (
        <Leaf
          name={chosen.name}
          path={`${path}.${chosen.name}`}
          schema={inner}
          value={record[chosen.name]}
          change={(next) => change({ [chosen.name]: next })}
          faults={faults}
          isRequired
          remove={null}
        />
      )}
    </>
  );
}

/** A field for one value: a choice of words, a number, a checkbox, text, or JSON for anything else. */
function Leaf({ name, path, schema, value, change, faults, remove }: Props & { remove: preact.ComponentChild }) {
  const fault = faultAt(faults, path, true);
  const hint = [
    schema.description,
    schema.default !== undefined && schema.default !== null ? `Default: ${JSON.stringify(schema.default)}.` : '',
  ]
    .filter(Boolean)
    .join(' ');
  const shapes = variants(schema);
  return (
    <div class="leaf">
      <Field label={words(name)} hint={hint} fault={fault}>
        {(field) => {
          if (shapes.length > 0) {
            return (
              <select {...field} name={path} value={String(value ?? '')} onChange={(event) => change(event.currentTarget.value)}>
                {shapes.map((shape) => (
                  <option key={shape.name} value={shape.name}>
                    {words(shape.name)}
                  </option>
                ))}
              </select>
            );
          }
          switch (schema.type) {
            case 'boolean':
              return (
                <input
                  {...field}
                  name={path}
                  type="checkbox"
                  checked={value === true}
                  onChange={(event) => change(event.currentTarget.checked)}
                />
              );
            case 'integer':
            case 'number':
              return <NumberInput field={{ ...field, name: path }} value={value} change={change} />;
            case 'string':
              return <input {...field} name={path} value={String(value ?? '')} onInput={(event) => change(event.currentTarget.value)} />;
            default:
              return <JsonInput field={{ ...field, name: path }} value={value} change={change} />;
          }
        }}
      </Field>
      {remove}
    </div>
  );
}

/** A number field that keeps the text as typed, so that the user can type `1e-` on the way to `1e-6`. */
export function NumberInput({ field, value, change }: { field: object; value: unknown; change: Change }) {
  const [text, setText] = useState(String(value ?? ''));
  const type = (typed: string) => {
    setText(typed);
    const parsed = Number(typed);
    change(typed.trim() === '' || Number.isNaN(parsed) ? typed : parsed);
  };
  return (
    <input
      {...field}
      inputMode="decimal"
      value={Number(text) === value || text === value ? text : String(value ?? '')}
      onInput={(event) => type(event.currentTarget.value)}
    />
  );
}

function JsonInput({ field, value, change }: { field: object; value: unknown; change: Change }) {
  const [text, setText] = useState(JSON.stringify(value ?? null));
  const type = (typed: string) => {
    setText(typed);
    try {
      change(JSON.parse(typed));
    } catch {
      change(typed);
    }
  };
  return <input {...field} class="json" spellcheck={false} value={text} onInput={(event) => type(event.currentTarget.value)} />;
}
