import type { TokenFunction, TokenInput } from '../core/oauth-token.ts';
import { SluiceError } from '../errors.ts';
import { type KafkaLogLine, securityOptions } from './client-options.ts';

/**
 * The tokens of one process, for its own connections and for those of its workers. `kafka` are the pipeline's options,
 * `own` its function where it has one. What makes the tokens is loaded when the first is asked for.
 */
export function tokenFunction(
  kafka: Readonly<Record<string, string>>,
  own?: TokenInput,
  log?: (line: KafkaLogLine) => void,
): TokenFunction {
  let source: Promise<TokenFunction> | null = null;
  const create = async (): Promise<TokenFunction> => {
    const [{ TokenSource }, { readSecuritySettings }] = await Promise.all([
      import('./security/token-source.ts'),
      import('./security/settings.ts'),
    ]);
    const login = readSecuritySettings(securityOptions(kafka))?.login;
    if (login?.mechanism !== 'OAUTHBEARER')
      throw new SluiceError(
        'INTERNAL',
        'a token was asked for by a client that does not log in by OAUTHBEARER',
      );
    const tokens = new TokenSource({ login, own, log });
    return (refused) => tokens.get(refused);
  };
  return async (refused) => {
    source ??= create();
    return (await source)(refused);
  };
}
