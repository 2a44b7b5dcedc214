import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { formatPath } from './fault.ts';
import { isMap, locate, type SourceTree } from './source-tree.ts';

const SCHEMA_OPTIONS = ['schema', 'writerSchema', 'readerSchema'];

/** Puts the text of the file in the place of `file:PATH` where an option takes a schema; a file that cannot be read is a fault. */
export async function readSchemaFiles(tree: SourceTree, { cwd }: { cwd: string }): Promise<void> {
  const tables = isMap(tree.value) ? tree.value.tables : undefined;
  for (const [index, rule] of (Array.isArray(tables) ? tables : []).entries()) {
    for (const part of ['value', 'key']) {
      const options = isMap(rule) ? rule[part] : undefined;
      if (!isMap(options)) continue;
      for (const key of SCHEMA_OPTIONS) {
        const text = options[key];
        if (typeof text !== 'string' || !text.startsWith('file:')) continue;
        const path = ['tables', index, part, key];
        const file = text.slice('file:'.length).trim();
        try {
          options[key] = await readFile(resolve(cwd, file), 'utf8');
        } catch (error) {
          // Its name is no schema: that would be told of as a second fault.
          options[key] = null;
          const code = (error as { code?: string }).code;
          const message = `the schema file ${file} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : code}`;
          tree.faults.push({
            code: 'WRONG_VALUE',
            message,
            ...locate(tree, path, 'value'),
            path: formatPath(path),
          });
        }
      }
    }
  }
}
