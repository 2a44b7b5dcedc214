import type { Api } from './api.ts';

export interface ApiVersionsResponse {
  readonly errorCode: number;
  readonly apis: readonly { key: number; min: number; max: number }[];
}

/**
 * ApiVersions (18). The response's header never has tagged fields, and a broker that does not know the version answers in
 * the form of version 0 (ApiVersionsResponse.json, KIP-511).
 */
export const apiVersions: Api<null, ApiVersionsResponse> = {
  name: 'ApiVersions',
  key: 18,
  min: 0,
  max: 3,
  flexibleFrom: 3,
  write(w, _request, version) {
    if (version >= 3) w.string('sluice').string('0').tags();
  },
  read(r, version) {
    const errorCode = r.int16();
    const apis = r.array(() => {
      const api = { key: r.int16(), min: r.int16(), max: r.int16() };
      r.tags();
      return api;
    });
    if (version >= 1) r.int32(); // throttle time
    r.tags();
    return { errorCode, apis };
  },
};
