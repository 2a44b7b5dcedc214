/**
 * Properties of every table that Sluice creates: old metadata files are cleaned, so that a table that is committed to
 * every minute does not leave half a million of them a year. What the pipeline gives goes before.
 */
export const DEFAULT_TABLE_PROPERTIES: Readonly<Record<string, string>> = {
  'write.metadata.delete-after-commit.enabled': 'true',
  'write.metadata.previous-versions-max': '100',
};
