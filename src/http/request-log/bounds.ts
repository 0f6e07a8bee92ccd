/** Bounds of the request log (KIT-53): per company and in total. */
export interface RequestLogBounds {
  readonly ofCompany: { readonly calls: number; readonly bytes: number }
  readonly ofAll: { readonly calls: number; readonly bytes: number }
}

export const REQUEST_LOG_BOUNDS: RequestLogBounds = {
  ofCompany: { calls: 100_000, bytes: 33_554_432 },
  ofAll: { calls: 5_000_000, bytes: 2_147_483_648 },
}
