/** Code points that the tables of RFC 3454 name, as RFC 4013 uses them. */
const MAPPED_TO_SPACE = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/gu;
const MAPPED_TO_NOTHING = /\u00ad|\u1806|\u200c|\u200d|\u2060|\ufeff|[\u034f\u180b-\u180d\ufe00-\ufe0f]/gu;
/** Control, private and odd characters (tables C.2 to C.9), and what is no character. */
const PROHIBITED =
  /[\p{Cc}\p{Co}\p{Cs}\p{Noncharacter_Code_Point}\p{Deprecated}\p{Zs}\p{Bidi_Control}]|[\u180e\u2028\u2029\u2061-\u2063\u206a-\u206f\u2ff0-\u2ffb\u06dd\u070f\ufff9-\ufffd]|\u0340|\u0341|[\u{1d173}-\u{1d17a}]|[\u{e0001}\u{e0020}-\u{e007f}]/u;
/** Letters of scripts that are written from right to left (table D.1), and those that are not (D.2). */
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
const LEFT_TO_RIGHT = /(?![\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}])\p{L}/u;

/**
 * SASLprep (RFC 4013) of a password: odd spaces become spaces, invisible characters vanish, compatibility forms are
 * normalised (NFKC). Null where it prohibits the text: control and private characters, mixed directions.
 */
export function saslprep(text: string): string | null {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  const prepared = text.replace(MAPPED_TO_SPACE, ' ').replace(MAPPED_TO_NOTHING, '').normalize('NFKC');
  if (prepared === '' || PROHIBITED.test(prepared.replaceAll(' ', ''))) return null;
  if (RIGHT_TO_LEFT.test(prepared)) {
    const characters = [...prepared];
    if (LEFT_TO_RIGHT.test(prepared)) return null;
    if (!RIGHT_TO_LEFT.test(characters[0]) || !RIGHT_TO_LEFT.test(characters[characters.length - 1]))
      return null;
  }
  return prepared;
}
