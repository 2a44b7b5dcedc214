import { messageOf, type Outcome, SluiceError } from '../errors.ts';

/** What the operating system's error codes mean to a person. */
const CAUSES: Record<string, string> = {
  EACCES: 'permission denied',
  ENOENT: 'no directory can be made there',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is mounted read-only',
  EIO: 'the device reports an input/output error',
  EMFILE: 'this process has too many open files',
  ENFILE: 'the system has too many open files',
  ENAMETOOLONG: 'the name is too long for the file system',
  ENOTDIR: 'a part of the path is a file, not a directory',
  EISDIR: 'it is a directory',
  ELOOP: 'too many symbolic links',
  EEXIST: 'a file of that name exists',
  EXDEV: 'it would cross file systems',
  ENOTSUP: 'the file system does not support it',
  EOPNOTSUPP: 'the file system does not support it',
  ESTALE: 'the network file system lost the file',
};

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const PASSING = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY', 'EINTR', 'ESTALE']);

export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** True where the error says that there is no file of that name. */
export function isAbsent(error: unknown): boolean {
  const code = errnoOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/**
 * The error of a failed system call: STORAGE_FULL, FILE_NOT_FOUND or STORAGE_ERROR, naming what was tried, the path and
 * the cause. An error that is already ours is given back as it is.
 */
export function toStorageError(error: unknown, doing: string, path: string, outcome?: Outcome): SluiceError {
  if (error instanceof SluiceError) return error;
  const errno = errnoOf(error);
  const context = { path, errno };
  if (errno !== undefined && FULL.has(errno)) {
    const why =
      errno === 'EDQUOT'
        ? 'the quota is used up'
        : errno === 'EFBIG'
          ? 'the file would be larger than allowed'
          : 'no space is left on the device';
    return new SluiceError(
      'STORAGE_FULL',
      `could not ${doing} ${path}: ${why} (${errno}); free space and run again`,
      { outcome, context, cause: error },
    );
  }
  if (isAbsent(error) && doing === 'read') {
    return new SluiceError('FILE_NOT_FOUND', `${path} does not exist`, { context, cause: error });
  }
  const why = errno === undefined ? messageOf(error) : `${CAUSES[errno] ?? messageOf(error)} (${errno})`;
  return new SluiceError('STORAGE_ERROR', `could not ${doing} ${path}: ${why}`, {
    outcome,
    context,
    cause: error,
    retryable: errno !== undefined && PASSING.has(errno),
  });
}
