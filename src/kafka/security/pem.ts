export interface PemBlock {
  /** `CERTIFICATE`, `PRIVATE KEY`, `ENCRYPTED PRIVATE KEY`, ... */
  readonly label: string;
  /** As OpenSSL wants it: lines of 64 characters. */
  readonly text: string;
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,40})-----([\s\S]*?)-----END \1-----/g;
const LINE = /.{1,64}/g;

/**
 * The blocks of a PEM text; what stands between them is passed over. Takes the forms that properties files and variables
 * make of it: all in one line, or with `\n` for the ends of lines. A block that is no base64 is left as it is, so that
 * whoever reads it says what is wrong.
 */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (const [whole, label, body] of text.replaceAll('\\n', '\n').matchAll(BLOCK)) {
    const base64 = body.replace(/\s+/g, '');
    // An old encrypted key has header lines (RFC 1421), which must stay lines.
    const plain = /^[A-Za-z0-9+/]+=*$/.test(base64);
    const lines = plain
      ? `-----BEGIN ${label}-----\n${base64.match(LINE)!.join('\n')}\n-----END ${label}-----`
      : whole;
    blocks.push({ label, text: `${lines}\n` });
  }
  return blocks;
}

export const isCertificate = ({ label }: PemBlock): boolean =>
  label === 'CERTIFICATE' || label === 'X509 CERTIFICATE' || label === 'TRUSTED CERTIFICATE';

export const isPrivateKey = ({ label }: PemBlock): boolean => label.endsWith('PRIVATE KEY');
