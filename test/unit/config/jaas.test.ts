import { describe, expect, it } from 'vitest';
import { jaasLogin, parseJaas } from '../../../src/config/jaas.ts';

const scram = (rest: string): string =>
  `org.apache.kafka.common.security.scram.ScramLoginModule required ${rest}`;

describe('parseJaas', () => {
  it.each<[string, string, Record<string, string>]>([
    ['quotes of both kinds', scram(`username="a" password='b';`), { username: 'a', password: 'b' }],
    ['words without quotes', scram('username=a password=b+c!;'), { username: 'a', password: 'b+c!' }],
    ['escaped quotes and backslashes', scram('password="a\\"b\\\\c";'), { password: 'a"b\\c' }],
    ['the other quote', scram(`password="it's" username='"';`), { password: "it's", username: '"' }],
    ['semicolon, equals sign and slash in quotes', scram('password="a;b=c//d";'), { password: 'a;b=c//d' }],
    [
      'escapes of letters and numbers',
      scram('password="\\t\\n\\101\\1234\\477\\q";'),
      { password: '\t\nAS4\x277q' },
    ],
    [
      'blanks around the equals sign, and lines',
      scram('\n  username = "a"\n  password\t=\n "b" ;\n'),
      { username: 'a', password: 'b' },
    ],
    ['comments', `/* first */ ${scram('// user\n username="a" /* "x" */;')}`, { username: 'a' }],
    ['the empty text', scram('password="";'), { password: '' }],
    [
      'letters of every script',
      scram('username="grün" password="пароль";'),
      { username: 'grün', password: 'пароль' },
    ],
    [
      'names of options with dots',
      scram('ssl.truststore.location="/a/b";'),
      { 'ssl.truststore.location': '/a/b' },
    ],
    ['no option', scram(';'), {}],
  ])('reads %s', (_what, text, options) => {
    const entry = parseJaas(text);
    if ('fault' in entry) throw new Error(entry.fault);
    expect(entry.module).toBe('ScramLoginModule');
    expect(Object.fromEntries(entry.options)).toEqual(options);
  });

  it.each([
    ['nothing', '', /class of a login module/],
    ['a section of a JAAS file', 'KafkaClient { x required; };', /`required` is expected/],
    ['no flag', 'ScramLoginModule username="hunter2";', /`required` is expected/],
    ['another flag', 'ScramLoginModule wanted username="hunter2";', /`required` is expected/],
    ['no semicolon', scram('username="a" password="hunter2"'), /semicolon/],
    ['an open quote', scram('password="hunter2;'), /quote is not closed/],
    ['a quote over two lines', scram('password="hunter2\n";'), /quote is not closed/],
    ['a trailing backslash', scram('password="hunter2\\'), /quote is not closed/],
    ['no value', scram('username= ;'), /the option username has no value/],
    ['no equals sign', scram('hunter2 password="a";'), /^an option has no value/],
    ['a password without its quotes', scram('password=hunter2 hunter2;'), /^an option has no value/],
    ['a quote for a name', scram('"hunter2"="a";'), /name of an option/],
    ['an option twice', scram('password="a" password="hunter2";'), /the option password is given twice/],
    ['a slash without quotes', scram('password=hunter2/hunter2;'), /stand in quotes/],
    ['two modules', `${scram(';')} ${scram('password="hunter2";')}`, /one login module/],
    ['a text without end', scram(`password="${'x'.repeat(70_000)}";`), /more than 65536 characters/],
    ['what only looks like comments', `${'/*'.repeat(30_000)}`, /"\/"/],
  ])('refuses %s, and shows no value', (_what, text, message) => {
    const entry = parseJaas(text);
    expect(entry).toEqual({ fault: expect.stringMatching(message) });
    expect(JSON.stringify(entry)).not.toContain('hunter2');
  });
});

describe('jaasLogin', () => {
  it('makes options of each module', () => {
    expect(jaasLogin('PlainLoginModule required username="u" password="p";', 'PLAIN')).toEqual({
      options: { 'sasl.username': 'u' },
      secrets: { 'sasl.password': 'p' },
    });
    const shaded = 'kafkashaded.org.apache.kafka.common.security.scram.ScramLoginModule REQUIRED';
    expect(jaasLogin(`${shaded} username="u" password="p";`, 'SCRAM-SHA-256')).toMatchObject({
      options: { 'sasl.username': 'u' },
    });
    const oauth = `OAuthBearerLoginModule required clientId="i" clientSecret="s" scope="a b"
      extension_logicalCluster="lkc-1" extension_identityPoolId="p" ssl.truststore.location="/ca" ssl.truststore.type="PEM";`;
    expect(jaasLogin(oauth, 'OAUTHBEARER')).toEqual({
      options: {
        'sasl.oauthbearer.client.credentials.client.id': 'i',
        'sasl.oauthbearer.scope': 'a b',
        'sasl.oauthbearer.ssl.truststore.location': '/ca',
        'sasl.oauthbearer.extensions': 'logicalCluster=lkc-1,identityPoolId=p',
      },
      secrets: { 'sasl.oauthbearer.client.credentials.client.secret': 's' },
    });
  });

  it.each([
    ['PlainLoginModule required username="u";', 'PLAIN', /needs username="..." and password/],
    ['PlainLoginModule required username="u" password="";', 'PLAIN', /needs username/],
    [
      'PlainLoginModule required username="u" password="hunter2";',
      'SCRAM-SHA-256',
      /PlainLoginModule does not go with sasl\.mechanism SCRAM-SHA-256, which needs ScramLoginModule/,
    ],
    [
      'ScramLoginModule required username="u" password="hunter2" tokenauth="true";',
      'SCRAM-SHA-256',
      /delegation tokens/,
    ],
    [
      'ScramLoginModule required username="u" password="p" hunter2="x";',
      'SCRAM-SHA-256',
      /^an option of ScramLoginModule/,
    ],
    ['com.sun.security.auth.module.Krb5LoginModule required;', undefined, /expected PlainLoginModule/],
    [
      'OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="hunter2";',
      'OAUTHBEARER',
      /unsecured tokens/,
    ],
    [
      'OAuthBearerLoginModule required clientId="a" extension_a="hunter2,b";',
      'OAUTHBEARER',
      /option extension_a has a comma/,
    ],
    ['OAuthBearerLoginModule required ssl.truststore.type="JKS";', 'OAUTHBEARER', /only be PEM/],
  ])('refuses %s for %s', (text, mechanism, message) => {
    const login = jaasLogin(text, mechanism);
    expect(login).toEqual({ fault: expect.stringMatching(message) });
    expect(JSON.stringify(login)).not.toContain('hunter2');
  });
});
