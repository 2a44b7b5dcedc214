import { SluiceError } from '../errors.ts';

/** A regular expression over the names of topics: Java's syntax, whole names. */
export interface TopicRegex {
  /** As it was written, without space around it. */
  readonly source: string;
  /** Does the whole name match? */
  matches(topic: string): boolean;
  /** Does any part of the name match? Spark's admin client takes such a topic too. */
  matchesPart(topic: string): boolean;
}

/** Letters after a backslash that mean the same in both languages. */
const SAME_ESCAPES = 'dDwWsSbBtnrf';
/** The named classes of Java over ASCII; topics have no other characters. */
const NAMED_CLASSES: Readonly<Record<string, string>> = {
  Lower: 'a-z',
  Upper: 'A-Z',
  Alpha: 'a-zA-Z',
  Digit: '0-9',
  Alnum: 'a-zA-Z0-9',
  L: 'a-zA-Z',
  Ll: 'a-z',
  Lu: 'A-Z',
  N: '0-9',
  Nd: '0-9',
  XDigit: '0-9a-fA-F',
  ASCII: '\\u0000-\\u007f',
};

/**
 * Compiles the pattern of `subscribePattern`. What Java knows and JavaScript does not (possessive quantifiers, atomic
 * groups, intersections of classes, flags inside the pattern) is refused, never read in another meaning. Throws
 * CONFIG_INVALID with the place.
 */
export function compileTopicRegex(text: string): TopicRegex {
  const source = text.trim();
  const { body, flags } = new Translator(source).translate();
  try {
    const whole = new RegExp(`^(?:${body})$`, flags);
    const part = new RegExp(body, flags);
    return {
      source,
      matches: (topic) => whole.test(topic),
      matchesPart: (topic) => part.test(topic),
    };
  } catch (cause) {
    throw new SluiceError(
      'CONFIG_INVALID',
      `subscribePattern ${JSON.stringify(source)} is no regular expression: ${reasonOf(cause)}`,
      { cause },
    );
  }
}

/** What V8 says, without the pattern that it repeats. */
function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.slice(message.lastIndexOf(': ') + 2);
}

/** Reads Java's syntax and writes JavaScript's, strict (`u`). */
class Translator {
  private readonly source: string;
  private at = 0;
  private out = '';

  constructor(source: string) {
    this.source = source;
  }

  translate(): { body: string; flags: string } {
    if (this.source === '') throw this.refused('it is empty');
    let flags = 'u';
    const leading = /^\(\?([a-zA-Z]+)\)/.exec(this.source);
    if (leading !== null) {
      for (const flag of leading[1]) {
        if (flag !== 'i' && flag !== 's')
          throw this.refused(`the flag (?${flag}) is not supported, only (?i)`);
        if (!flags.includes(flag)) flags += flag;
      }
      this.at = leading[0].length;
    }
    while (this.at < this.source.length) this.step();
    return { body: this.out, flags };
  }

  private step(): void {
    const c = this.source[this.at];
    if (c === '\\') this.out += this.escape(false);
    else if (c === '[') this.characterClass();
    else if (c === '(') this.group();
    else if (c === '*' || c === '+' || c === '?' || c === '{') this.quantifier();
    else {
      // Java takes these two for themselves where nothing was opened.
      this.out += c === ']' || c === '}' ? `\\${c}` : c;
      this.at++;
    }
  }

  private group(): void {
    const rest = this.source.slice(this.at);
    const opening = /^\((\?(:|=|!|<=|<!|<[a-zA-Z][a-zA-Z0-9]*>))?/.exec(rest)![0];
    if (opening === '(' && rest[1] === '?') {
      if (rest[2] === '>') throw this.refused('atomic groups (?>...) are not supported');
      throw this.refused('flags are supported at the very beginning only: (?i)orders-.*');
    }
    this.out += opening;
    this.at += opening.length;
  }

  private quantifier(): void {
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(this.source.slice(this.at))?.[0];
    if (quantifier === undefined)
      throw this.refused('{ begins a number of repetitions, such as {2,4}; write \\{');
    this.at += quantifier.length;
    if (this.source[this.at] === '+')
      throw this.refused('possessive quantifiers such as *+ are not supported');
    this.out += quantifier;
  }

  /** One escape outside or inside of a class; `at` is on the backslash. */
  private escape(inClass: boolean): string {
    const rest = this.source.slice(this.at);
    const c = rest[1];
    if (c === undefined) throw this.refused('a backslash at the end escapes nothing');
    const take = (length: number, text: string): string => {
      this.at += length;
      return text;
    };
    if (c === 'Q') {
      const end = rest.indexOf('\\E', 2);
      const quoted = end < 0 ? rest.slice(2) : rest.slice(2, end);
      return take(end < 0 ? rest.length : end + 2, [...quoted].map((q) => literal(q, inClass)).join(''));
    }
    const code = /^\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})/.exec(rest)?.[0];
    if (code !== undefined) return take(code.length, code);
    const named = /^\\([pP])(?:\{(?:Is)?(\w+)\}|(\w))/.exec(rest);
    if (named !== null) return take(named[0].length, this.namedClass(named, inClass));
    if (!inClass) {
      if (c === 'A') return take(2, '^');
      if (c === 'z' || c === 'Z') return take(2, '$');
      const reference = /^\\(?:[1-9]|k<[a-zA-Z][a-zA-Z0-9]*>)/.exec(rest)?.[0];
      if (reference !== undefined) return take(reference.length, reference);
    }
    if (SAME_ESCAPES.includes(c) && !(inClass && /[bB]/.test(c))) return take(2, `\\${c}`);
    if (/[a-zA-Z0-9]/.test(c)) throw this.refused(`\\${c} is not supported`);
    return take(2, literal(c, inClass));
  }

  private namedClass(named: RegExpExecArray, inClass: boolean): string {
    const ranges = NAMED_CLASSES[named[2] ?? named[3]];
    if (ranges === undefined) throw this.refused(`${named[0]} is not supported`);
    const negated = named[1] === 'P';
    if (inClass && negated) throw this.refused(`${named[0]} inside of [...] is not supported`);
    return inClass ? ranges : `[${negated ? '^' : ''}${ranges}]`;
  }

  private characterClass(): void {
    const begin = this.at++;
    let negated = '';
    if (this.source[this.at] === '^') {
      negated = '^';
      this.at++;
    }
    let members = '';
    for (let first = true; ; first = false) {
      const c = this.source[this.at];
      if (c === undefined) {
        this.at = begin;
        throw this.refused('[ is not closed');
      }
      if (c === ']' && !first) break;
      if (c === '[')
        throw this.refused('a class inside of a class is not supported; write \\[ for the character');
      if (this.source.startsWith('&&', this.at)) throw this.refused('&& inside of [...] is not supported');
      members += this.member();
    }
    this.at++;
    this.out += `[${negated}${members}]`;
  }

  /** One character, one escape, or a range of a class. */
  private member(): string {
    const single = (): { text: string; isCharacter: boolean } => {
      const c = this.source[this.at];
      if (c !== '\\') {
        this.at++;
        return { text: literal(c, true), isCharacter: true };
      }
      const next = this.source[this.at + 1];
      const isCharacter = next !== undefined && !/[dDwWsSpPQ]/.test(next);
      return { text: this.escape(true), isCharacter };
    };
    const from = single();
    const after = this.source[this.at + 1];
    if (!from.isCharacter || this.source[this.at] !== '-' || after === undefined || after === ']')
      return from.text;
    this.at++;
    const to = single();
    return to.isCharacter ? `${from.text}-${to.text}` : `${from.text}\\-${to.text}`;
  }

  private refused(reason: string): SluiceError {
    return new SluiceError(
      'CONFIG_INVALID',
      `subscribePattern ${JSON.stringify(this.source)}, character ${this.at + 1}: ${reason}`,
      { context: { position: this.at + 1 } },
    );
  }
}

/** A character that stands for itself, in JavaScript's strict syntax. */
function literal(c: string, inClass: boolean): string {
  if (/[\^$\\.*+?()[\]{}|/]/.test(c) || (inClass && c === '-')) return `\\${c}`;
  return c;
}
