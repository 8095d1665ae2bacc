/** The JSON schema of a task's file, as far as a form needs it. */

import document from '../../../../api/task.schema.json';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  description?: string;
  default?: unknown;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
  pattern?: string;
}

const root = document as unknown as Schema & { $defs: Record<string, Schema> };

/** The schema of the whole file. */
export const task: Schema = root;

/** The schema itself, where it is a reference to one; what is said beside the reference wins. */
export function resolved(schema: Schema): Schema {
  if (!schema.$ref) return schema;
  const { $ref, ...beside } = schema;
  return { ...resolved(root.$defs[$ref.replace('#/$defs/', '')] ?? {}), ...beside };
}

/** Whether there may be nothing, and what there is otherwise. */
export function optional(schema: Schema): { inner: Schema; mayBeNull: boolean } {
  const isNull = (one: Schema) => one.type === 'null';
  if (schema.anyOf?.some(isNull)) {
    const [first] = schema.anyOf.filter((one) => !isNull(one));
    const { anyOf: _, ...beside } = schema;
    return { inner: { ...resolved(first ?? {}), ...beside }, mayBeNull: true };
  }
  if (Array.isArray(schema.type) && schema.type.includes('null')) {
    return { inner: { ...schema, type: schema.type.find((type) => type !== 'null') ?? 'string' }, mayBeNull: true };
  }
  return { inner: schema, mayBeNull: false };
}

/** One of several shapes: its name, and where its name stands in the value. */
export interface Variant {
  name: string;
  description?: string | undefined;
  schema: Schema;
  kind: 'word' | 'tagged' | 'wrapped';
}

/** The shapes among which to choose; none if there is only one. */
export function variants(schema: Schema): Variant[] {
  if (schema.enum) return schema.enum.map((word) => ({ name: String(word), schema: {}, kind: 'word' as const }));
  return (schema.oneOf ?? []).flatMap((raw): Variant[] => {
    const one = resolved(raw);
    const { description } = one;
    if (one.enum) return one.enum.map((word) => ({ name: String(word), description, schema: {}, kind: 'word' as const }));
    if (typeof one.const === 'string') return [{ name: one.const, description, schema: {}, kind: 'word' }];
    const tag = one.properties?.['kind']?.const;
    if (typeof tag === 'string') return [{ name: tag, description, schema: one, kind: 'tagged' }];
    const [key] = Object.keys(one.properties ?? {});
    return key ? [{ name: key, description, schema: one.properties?.[key] ?? {}, kind: 'wrapped' }] : [];
  });
}

/** Which of the shapes a value has. */
export function variantOf(shapes: Variant[], value: unknown): Variant | undefined {
  if (typeof value === 'string') return shapes.find((one) => one.kind === 'word' && one.name === value);
  if (typeof value !== 'object' || value === null) return undefined;
  const tag = (value as Record<string, unknown>)['kind'];
  return shapes.find((one) => (one.kind === 'tagged' && one.name === tag) || (one.kind === 'wrapped' && one.name in value));
}

/** A value to begin with: what must be there, by its examples, and nothing else. */
export function beginning(raw: Schema): unknown {
  const { inner: schema, mayBeNull } = optional(resolved(raw));
  if (mayBeNull && schema.examples?.[0] === undefined) return null;
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  const [first] = variants(schema);
  if (first) return ofVariant(first);
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.properties) {
    return Object.fromEntries((schema.required ?? []).map((name) => [name, beginning(schema.properties?.[name] ?? {})]));
  }
  switch (schema.type) {
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return '';
  }
}

export function ofVariant(variant: Variant): unknown {
  switch (variant.kind) {
    case 'word':
      return variant.name;
    case 'tagged':
      return { ...(beginning(variant.schema) as object), kind: variant.name };
    case 'wrapped':
      return { [variant.name]: beginning(resolved(variant.schema)) };
  }
}
