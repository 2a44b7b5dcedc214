import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { extname, isAbsolute, resolve } from 'node:path';
import type { TokenInput } from '../core/oauth-token.ts';
import { Secret } from '../core/secret.ts';
import { SluiceError } from '../errors.ts';
import { checkOptions } from './check.ts';
import { crossCheck } from './cross-checks.ts';
import { configInvalid, type Fault, type FaultCode, formatPath, type Path, type Position } from './fault.ts';
import { jaasLogin } from './jaas.ts';
import type { Section } from './option.ts';
import { findOption, OPTIONS } from './options.ts';
import { applyEnvironment, applyOverrides } from './override.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import { type ResolveContext, resolveConfig } from './resolve-config.ts';
import { readSchemaFiles } from './schema-files.ts';
import { isSecretReference, resolveSecret } from './secrets.ts';
import { FUNCTION, locate, pathKey, type SourceTree } from './source-tree.ts';
import { Values } from './values.ts';
import { readYaml } from './yaml-source.ts';

export interface LoadOptions {
  /** As the person named it: messages show it so. `.ts`, `.js`, `.mts` and `.mjs` are imported, the rest is YAML. */
  file: string;
  /** The YAML text, where it is not to be read from the file. */
  text?: string;
  env: Readonly<Record<string, string | undefined>>;
  /** `--set path=value`, in order. */
  overrides: readonly string[];
  cwd: string;
  /** Worker threads where the file names no number; the cores by default. */
  defaultWorkers?: number;
}

export interface LoadedPipeline {
  config: PipelineConfig;
  warnings: Fault[];
  /** `checkpointLocation` as the file writes it, where it is relative: it then means another place in each working directory. */
  relativeCheckpoint: (Position & { text: string }) | null;
}

/**
 * Reads a pipeline file, lays the environment and `--set` over it (in this order), and checks all of it at once.
 * Throws CONFIG_NOT_FOUND, and CONFIG_INVALID with every fault in `context.faults` and in the message.
 */
export async function loadPipeline(options: LoadOptions): Promise<LoadedPipeline> {
  const tree = await readTree(options);
  const warnings: Fault[] = [];
  const unreadable = tree.faults.some((f) => f.path === '' && f.code !== 'DUPLICATE_KEY');
  if (unreadable) throw configInvalid(options.file, tree.faults);
  applyEnvironment(tree, options.env, warnings);
  applyOverrides(tree, options.overrides);
  await readSchemaFiles(tree, options);
  checkOptions(tree, warnings);
  const values = new Values(tree);
  crossCheck(values, warnings);
  const secrets = await readSecrets(values, options);
  if (tree.faults.length > 0) throw configInvalid(options.file, tree.faults);
  const config = resolveConfig(values, {
    cwd: options.cwd,
    defaultWorkers: options.defaultWorkers ?? availableParallelism(),
    ...secrets,
  });
  return { config, warnings, relativeCheckpoint: relativeCheckpoint(values) };
}

/** What `--set` says is typed in the working directory, and means it. */
function relativeCheckpoint(values: Values): LoadedPipeline['relativeCheckpoint'] {
  const text = values.get<string>('', 'checkpointLocation')!;
  const position = locate(values.tree, ['checkpointLocation'], 'value');
  return isAbsolute(text) || text.startsWith('file:') || position.file === '--set'
    ? null
    : { ...position, text };
}

async function readTree(options: LoadOptions): Promise<SourceTree> {
  const fullPath = resolve(options.cwd, options.file);
  if (options.text === undefined && /^\.[mc]?[jt]s$/.test(extname(options.file))) {
    await readText(options, fullPath);
    const { readModule } = await import('./module-source.ts');
    return readModule(options.file, fullPath, options.env);
  }
  const text = options.text ?? (await readText(options, fullPath));
  return readYaml(options.file, text, { env: options.env, placeholders });
}

async function readText({ file, cwd }: LoadOptions, fullPath: string): Promise<string> {
  try {
    return await readFile(fullPath, 'utf8');
  } catch (e) {
    const code = (e as { code?: string }).code;
    const what =
      code === 'ENOENT'
        ? `there is no such file${fullPath === file ? '' : ` in ${cwd}`}`
        : code === 'EISDIR'
          ? 'this is a directory'
          : `it cannot be read (${code})`;
    throw new SluiceError('CONFIG_NOT_FOUND', `${file}: ${what}`, {
      context: { file: fullPath },
      cause: e,
    });
  }
}

/** `${topic}` in the name of a table is filled in for each topic, not from the environment. */
function placeholders(path: Path): readonly string[] {
  const key = String(path[path.length - 1]);
  if (path[0] !== 'tables') return [];
  const section = path.length === 4 ? (`tables[].${path[2]}` as Section) : 'tables[]';
  return findOption(section, key)?.placeholders ?? [];
}

/** Resolves the secrets of `source` and `registry`; failures become faults at their place. */
async function readSecrets(
  values: Values,
  options: LoadOptions,
): Promise<Pick<ResolveContext, 'kafkaSecrets' | 'registrySecrets' | 'kafkaExtra' | 'oauthToken'>> {
  const kafkaSecrets: Record<string, Secret> = {};
  const registrySecrets: Record<string, Secret> = {};
  const kafkaExtra: Record<string, string> = {};
  let oauthToken: TokenInput | undefined;
  for (const option of OPTIONS) {
    if (option.secret !== true || !values.has(option.section, option.key)) continue;
    const text = values.get<string>(option.section, option.key);
    const path = values.path(option.section, option.key);
    const own = text === FUNCTION ? values.tree.functions.get(pathKey(path)) : undefined;
    if (own !== undefined) {
      oauthToken = own as TokenInput;
      continue;
    }
    const secret =
      text === undefined ? undefined : await readSecret(values, option.section, option.key, text, options);
    if (secret === undefined) continue;
    if (option.section === 'registry') {
      registrySecrets[option.key] = secret;
      continue;
    }
    if (option.key !== 'kafka.sasl.jaas.config') {
      kafkaSecrets[option.key.slice('kafka.'.length)] = secret;
      continue;
    }
    const login = jaasLogin(secret.reveal(), values.get<string>('source', 'kafka.sasl.mechanism'));
    if ('fault' in login) {
      secretFault(values, path, 'WRONG_VALUE', `this is no login that can be used: ${login.fault}`);
      continue;
    }
    Object.assign(kafkaExtra, login.options);
    for (const [key, value] of Object.entries(login.secrets)) kafkaSecrets[key] = new Secret(value);
  }
  return { kafkaSecrets, registrySecrets, kafkaExtra, oauthToken };
}

function secretFault(values: Values, path: Path, code: FaultCode, message: string): void {
  values.tree.faults.push({ code, message, ...locate(values.tree, path, 'value'), path: formatPath(path) });
}

async function readSecret(
  values: Values,
  section: Section,
  key: string,
  text: string,
  options: LoadOptions,
): Promise<Secret | undefined> {
  // Only what stands in the file is a reference: a password that begins with "exec:" is a password.
  if (!isSecretReference(values.written(section, key) ?? '')) return new Secret(text);
  const secret = await resolveSecret(text, options);
  if (secret instanceof Secret) return secret;
  secretFault(values, values.path(section, key), 'SECRET_UNAVAILABLE', secret.failed);
  return undefined;
}
