// The params of a DAG as fields of a form, and what was typed as values.

export interface Param {
  name: string;
  type: string;
  required: boolean;
  text: string; // what the field starts with
  doc: string;
}

interface ParamSpec {
  type?: string;
  default?: unknown;
  help?: string;
  required?: boolean;
}

export function paramsOf(spec: unknown): Param[] {
  const params = (spec as { params?: Record<string, ParamSpec> } | undefined)?.params ?? {};
  return Object.entries(params).map(([name, param]) => ({
    name,
    type: param.type ?? 'string',
    required: param.default === undefined,
    text: param.default === undefined ? '' : typeof param.default === 'string' ? param.default : JSON.stringify(param.default),
    doc: param.help ?? '',
  }));
}

/** The value of one field; throws with what is wrong with it. */
export function valueOf(param: Param, text: string): unknown {
  if (param.type === 'string') return text;
  if (param.type === 'number' || param.type === 'integer') {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value)) throw new Error(`${param.name} must be a number`);
    return value;
  }
  if (param.type === 'boolean' || param.type === 'bool') {
    if (text !== 'true' && text !== 'false') throw new Error(`${param.name} must be true or false`);
    return text === 'true';
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${param.name} must be JSON (${param.type})`);
  }
}
