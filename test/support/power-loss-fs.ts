import type {
  LocalDirectoryEntry,
  LocalFileHandle,
  LocalFileStat,
  LocalFs,
} from '../../src/storage/local-fs.ts';

interface FileNode {
  kind: 'file';
  data: Uint8Array;
  /** What fsync has made safe. */
  durable: Uint8Array;
}

interface DirectoryNode {
  kind: 'directory';
  entries: Map<string, Node>;
  durable: Map<string, Node>;
  /** Changes since the last fsync of the directory, in order: a name, and what it stands for afterwards. */
  pending: Change[];
}

type Node = FileNode | DirectoryNode;
type Change = { name: string; node: Node | undefined }[];

/** How much of something not yet fsynced happens to survive, 0 to `most`; the worst case is 0 always. */
export type Survives = (most: number) => number;

/**
 * A file system in memory that knows what fsync is for: `crash` forgets every byte and every directory entry that was
 * not fsynced, each on its own, as a power loss may. What was not fsynced may also survive in part: `survives` says how
 * many of the pending changes of a directory, and how many of the new bytes of a file, do.
 */
export class PowerLossFs implements LocalFs {
  /** System calls so far. */
  calls = 0;
  /** The power goes before this call (counted from 1); it and all later ones fail. */
  failAt = Number.POSITIVE_INFINITY;
  #root = directory();
  /** Handles of an earlier life are dead. */
  #life = 0;
  #clock = 0;

  crash(survives: Survives = () => 0): void {
    this.#life++;
    this.failAt = Number.POSITIVE_INFINITY;
    settle(this.#root, survives, new Set());
  }

  async createFile(path: string): Promise<LocalFileHandle> {
    this.#step();
    const { parent, name } = this.#parent(path);
    if (parent.entries.has(name)) throw errno('EEXIST', path);
    const node: FileNode = { kind: 'file', data: new Uint8Array(0), durable: new Uint8Array(0) };
    change(parent, [{ name, node }]);
    const life = this.#life;
    const alive = () => {
      this.#step();
      if (life !== this.#life) throw errno('EBADF', path);
    };
    return {
      write: async (bytes) => {
        alive();
        const data = new Uint8Array(node.data.length + bytes.length);
        data.set(node.data);
        data.set(bytes, node.data.length);
        node.data = data;
      },
      sync: async () => {
        alive();
        node.durable = node.data;
      },
      close: async () => alive(),
    };
  }

  async readFile(path: string, start: number, end: number): Promise<Uint8Array> {
    this.#step();
    const node = this.#node(path);
    if (node.kind !== 'file') throw errno('EISDIR', path);
    return node.data.slice(start, Math.max(start, Math.min(end, node.data.length)));
  }

  async stat(path: string): Promise<LocalFileStat> {
    this.#step();
    const node = this.#node(path);
    return {
      kind: node.kind,
      sizeBytes: node.kind === 'file' ? node.data.length : 0,
      modifiedMs: this.#clock,
    };
  }

  async readDirectory(path: string): Promise<LocalDirectoryEntry[]> {
    this.#step();
    return [...this.#directory(path).entries].map(([name, node]) => ({ name, kind: node.kind }));
  }

  async makeDirectory(path: string): Promise<void> {
    this.#step();
    if (path === '/') throw errno('EEXIST', path);
    const { parent, name } = this.#parent(path);
    if (parent.entries.has(name)) throw errno('EEXIST', path);
    change(parent, [{ name, node: directory() }]);
  }

  async link(from: string, to: string): Promise<void> {
    this.#step();
    const node = this.#node(from);
    const { parent, name } = this.#parent(to);
    if (parent.entries.has(name)) throw errno('EEXIST', to);
    change(parent, [{ name, node }]);
  }

  /** Within one directory only, where it is one change. */
  async rename(from: string, to: string): Promise<void> {
    this.#step();
    const node = this.#node(from);
    const source = this.#parent(from);
    const target = this.#parent(to);
    if (source.parent !== target.parent) throw errno('EXDEV', to);
    change(target.parent, [
      { name: source.name, node: undefined },
      { name: target.name, node },
    ]);
  }

  async unlink(path: string): Promise<void> {
    this.#step();
    const node = this.#node(path);
    if (node.kind !== 'file') throw errno('EISDIR', path);
    const { parent, name } = this.#parent(path);
    change(parent, [{ name, node: undefined }]);
  }

  async syncDirectory(path: string): Promise<void> {
    this.#step();
    const node = this.#directory(path);
    node.durable = new Map(node.entries);
    node.pending = [];
  }

  #step(): void {
    this.calls++;
    this.#clock++;
    if (this.calls >= this.failAt) throw errno('EIO', 'the power is gone');
  }

  #node(path: string): Node {
    let node: Node = this.#root;
    for (const part of path.split('/')) {
      if (part === '' || part === '.') continue;
      if (node.kind !== 'directory') throw errno('ENOTDIR', path);
      const next = node.entries.get(part);
      if (next === undefined) throw errno('ENOENT', path);
      node = next;
    }
    return node;
  }

  #directory(path: string): DirectoryNode {
    const node = this.#node(path);
    if (node.kind !== 'directory') throw errno('ENOTDIR', path);
    return node;
  }

  #parent(path: string): { parent: DirectoryNode; name: string } {
    const slash = path.lastIndexOf('/');
    return { parent: this.#directory(path.slice(0, Math.max(slash, 0))), name: path.slice(slash + 1) };
  }
}

function directory(): DirectoryNode {
  return { kind: 'directory', entries: new Map(), durable: new Map(), pending: [] };
}

function change(parent: DirectoryNode, changes: Change): void {
  apply(parent.entries, changes);
  parent.pending.push(changes);
}

function apply(entries: Map<string, Node>, changes: Change): void {
  for (const { name, node } of changes) {
    if (node === undefined) entries.delete(name);
    else entries.set(name, node);
  }
}

function settle(node: Node, survives: Survives, seen: Set<Node>): void {
  if (seen.has(node)) return;
  seen.add(node);
  if (node.kind === 'file') {
    const unsafe = node.data.length - node.durable.length;
    node.data = node.data.slice(0, node.durable.length + (unsafe > 0 ? survives(unsafe) : 0));
    node.durable = node.data;
    return;
  }
  // Directory changes reach the disk in order.
  const kept = node.pending.length > 0 ? survives(node.pending.length) : 0;
  for (const changes of node.pending.slice(0, kept)) apply(node.durable, changes);
  node.entries = new Map(node.durable);
  node.pending = [];
  for (const child of node.entries.values()) settle(child, survives, seen);
}

function errno(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
