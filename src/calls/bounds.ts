/** Bounds of the request log (KIT-53): per company and in total. */
export interface Bounds {
  readonly ofCompany: { readonly calls: number; readonly bytes: number }
  readonly ofAll: { readonly calls: number; readonly bytes: number }
}

export const BOUNDS: Bounds = {
  ofCompany: { calls: 100_000, bytes: 33_554_432 },
  ofAll: { calls: 5_000_000, bytes: 2_147_483_648 },
}
