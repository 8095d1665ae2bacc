/** The parts of a task file's JSON schema that the form needs. */

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

/** The schema of a whole task file. */
export const task: Schema = root;

/** Resolves a reference. Keywords beside the reference take precedence. */
export function resolved(schema: Schema): Schema {
  if (!schema.$ref) return schema;
  const { $ref, ...beside } = schema;
  return { ...resolved(root.$defs[$ref.replace('#/$defs/', '')] ?? {}), ...beside };
}

/** Splits a schema into its non-null part and whether null is allowed. */
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

/** One of several shapes that a value can have: its name, and the form of a value with this shape. */
export interface Variant {
  name: string;
  description?: string | undefined;
  schema: Schema;
  kind: 'word' | 'tagged' | 'wrapped';
}

/** Returns the shapes that the user can choose from; empty if there is only one shape. */
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

/** Returns the first of the shapes that the value has; undefined if it has none. */
export function variantOf(shapes: Variant[], value: unknown): Variant | undefined {
  if (typeof value === 'string') return shapes.find((one) => one.kind === 'word' && one.name === value);
  if (typeof value !== 'object' || value === null) return undefined;
  const tag = (value as Record<string, unknown>)['kind'];
  return shapes.find((one) => (one.kind === 'tagged' && one.name === tag) || (one.kind === 'wrapped' && one.name in value));
}

/** Returns an initial value with only the required keys, filled from their examples. */
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
