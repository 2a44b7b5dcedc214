/** One entry of a JAAS configuration, as Kafka's `sasl.jaas.config` holds it. */
export interface JaasEntry {
  /** The class without its package. */
  module: string;
  options: Map<string, string>;
}

/** What a JAAS text becomes: options of the client without the prefix `kafka.`; those that are secrets apart. */
export interface JaasLogin {
  options: Record<string, string>;
  secrets: Record<string, string>;
}

interface Fault {
  fault: string;
}

const MAX_LENGTH = 64 * 1024;

type Token = { kind: 'word' | 'quoted'; text: string } | { kind: '=' | ';' };

/**
 * Reads a text of the form `package.Module required key="value" key='value' key=value;` with the quotes, escapes and
 * comments of Java's own parser (Kafka's JaasConfig). Strict: what Java would read as something else than it looks like
 * is a fault. Faults never show a value.
 */
export function parseJaas(text: string): JaasEntry | Fault {
  if (text.length > MAX_LENGTH) return { fault: `more than ${MAX_LENGTH} characters` };
  const tokens = tokensOf(text);
  if ('fault' in tokens) return tokens;
  const [module, flag] = tokens;
  if (module?.kind !== 'word' || !/^[\w$.]+$/.test(module.text))
    return { fault: 'it does not begin with the class of a login module' };
  if (flag?.kind !== 'word' || !/^(required|requisite|sufficient|optional)$/i.test(flag.text))
    return { fault: 'behind the login module, `required` is expected' };
  const options = new Map<string, string>();
  let at = 2;
  for (; at < tokens.length && tokens[at].kind !== ';'; at += 3) {
    const [key, equals, value] = tokens.slice(at, at + 3);
    if (key.kind !== 'word')
      return { fault: 'the name of an option is expected where something else stands' };
    if (equals?.kind !== '=' || value === undefined || !('text' in value))
      return { fault: `${named(key.text)} has no value` };
    if (options.has(key.text)) return { fault: `${named(key.text)} is given twice` };
    options.set(key.text, value.text);
  }
  if (at >= tokens.length) return { fault: 'it does not end with a semicolon' };
  if (at < tokens.length - 1)
    return { fault: 'there is something behind the semicolon; one login module is expected' };
  return { module: module.text.slice(module.text.lastIndexOf('.') + 1), options };
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
// A word ends at a blank, a quote, `=`, `;`, and at `/`, which begins a comment.
const WORD = /[^\s"'=;/]+/y;
const SKIP = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y;

function tokensOf(text: string): Token[] | Fault {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    SKIP.lastIndex = at;
    at += SKIP.exec(text)?.[0].length ?? 0;
    if (at === text.length) break;
    const c = text[at];
    if (c === '=' || c === ';') {
      tokens.push({ kind: c });
      at++;
    } else if (c === '"' || c === "'") {
      const quoted = readQuoted(text, at);
      if (quoted === null) return { fault: 'a quote is not closed in its line' };
      tokens.push({ kind: 'quoted', text: quoted.text });
      at = quoted.end;
    } else {
      WORD.lastIndex = at;
      const word = WORD.exec(text)?.[0];
      if (word === undefined)
        return { fault: 'a value with "/" has to stand in quotes, for it begins a comment' };
      // Java reads `a/b` as the word `a` and a comment.
      if (text[at + word.length] === '/')
        return { fault: 'a value with "/" has to stand in quotes, for it begins a comment' };
      tokens.push({ kind: 'word', text: word });
      at += word.length;
    }
  }
  return tokens;
}

/** Escapes as Java's StreamTokenizer has them: letters, up to three octal digits, else the character itself. */
function readQuoted(text: string, start: number): { text: string; end: number } | null {
  const quote = text[start];
  let value = '';
  let at = start + 1;
  while (at < text.length) {
    const c = text[at++];
    if (c === quote) return { text: value, end: at };
    if (c === '\n' || c === '\r') return null;
    if (c !== '\\') {
      value += c;
      continue;
    }
    const octal = /^(?:[0-3][0-7]{0,2}|[4-7][0-7]?)/.exec(text.slice(at, at + 3))?.[0];
    if (octal !== undefined) {
      value += String.fromCharCode(Number.parseInt(octal, 8));
      at += octal.length;
    } else {
      const next = text[at++];
      if (next === undefined) return null;
      value += ESCAPES[next] ?? next;
    }
  }
  return null;
}

/** The login of a JAAS text under a mechanism, or the fault in words that show no value. */
export function jaasLogin(text: string, mechanism: string | undefined): JaasLogin | Fault {
  const entry = parseJaas(text);
  if ('fault' in entry) return entry;
  const { module, options } = entry;
  const wanted =
    mechanism === undefined
      ? undefined
      : mechanism === 'PLAIN'
        ? 'PlainLoginModule'
        : mechanism === 'OAUTHBEARER'
          ? 'OAuthBearerLoginModule'
          : 'ScramLoginModule';
  if (!/^(Plain|Scram|OAuthBearer)LoginModule$/.test(module))
    return { fault: 'expected PlainLoginModule, ScramLoginModule or OAuthBearerLoginModule' };
  if (wanted !== undefined && module !== wanted)
    return { fault: `${module} does not go with sasl.mechanism ${mechanism}, which needs ${wanted}` };
  return module === 'OAuthBearerLoginModule' ? tokenLogin(options) : passwordLogin(module, options);
}

function passwordLogin(module: string, options: ReadonlyMap<string, string>): JaasLogin | Fault {
  for (const key of options.keys()) {
    if (key === 'tokenauth')
      return { fault: 'delegation tokens (tokenauth) are not in this version; use a user and a password' };
    if (key !== 'username' && key !== 'password')
      return { fault: `${named(key)} of ${module} is not known here` };
  }
  const username = options.get('username');
  const password = options.get('password');
  if (!username || !password) return { fault: `${module} needs username="..." and password="..."` };
  return { options: { 'sasl.username': username }, secrets: { 'sasl.password': password } };
}

const OF_ENDPOINT: Readonly<Record<string, string>> = {
  clientId: 'sasl.oauthbearer.client.credentials.client.id',
  scope: 'sasl.oauthbearer.scope',
  'ssl.truststore.location': 'sasl.oauthbearer.ssl.truststore.location',
  'ssl.truststore.certificates': 'sasl.oauthbearer.ssl.truststore.certificates',
};

function tokenLogin(options: ReadonlyMap<string, string>): JaasLogin | Fault {
  const login: JaasLogin = { options: {}, secrets: {} };
  const extensions: string[] = [];
  for (const [key, value] of options) {
    if (key === 'clientSecret') login.secrets['sasl.oauthbearer.client.credentials.client.secret'] = value;
    else if (Object.hasOwn(OF_ENDPOINT, key)) login.options[OF_ENDPOINT[key]] = value;
    else if (key === 'ssl.truststore.type') {
      if (value !== 'PEM') return { fault: 'ssl.truststore.type can only be PEM' };
    } else if (key.startsWith('extension_')) {
      if (value.includes(','))
        return { fault: `the value of ${named(key)} has a comma, which is not possible here` };
      extensions.push(`${key.slice('extension_'.length)}=${value}`);
    } else if (key.startsWith('unsecuredLogin')) {
      return {
        fault: 'unsecured tokens are for tests of a broker; give a token, a function or a token endpoint',
      };
    } else return { fault: `${named(key)} of OAuthBearerLoginModule is not known here` };
  }
  if (extensions.length > 0) login.options['sasl.oauthbearer.extensions'] = extensions.join(',');
  return login;
}

/** Only names that are known: a part of a password without its quotes may stand where a name should. */
function named(name: string): string {
  const known =
    /^(username|password|clientId|clientSecret|scope|tokenauth|serviceName|useKeyTab|keyTab|principal|(extension_|ssl\.|unsecuredLogin)[\w.]{1,60})$/;
  return known.test(name) ? `the option ${name}` : 'an option';
}
