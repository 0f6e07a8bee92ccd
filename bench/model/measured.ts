import type { Measured } from './model.ts'

/** As `npm run bench -- --only scale-costs` printed it. */
export const MEASURED: Measured = {
  of: '2026-11-22',
  costs: {
    sale: {
      alone: { service_us: 4655, postgres_us: 4310 },
      crowded: { service_us: 1111, postgres_us: 750 },
      crowd: 32,
      alone_ms: 17.8,
    },
    upload: {
      alone: { service_us: 8387, postgres_us: 7419 },
      crowded: { service_us: 5930, postgres_us: 4302 },
      crowd: 32,
      alone_ms: 33.8,
    },
    opening: {
      alone: { service_us: 2909, postgres_us: 2727 },
      crowded: { service_us: 1865, postgres_us: 1498 },
      crowd: 32,
      alone_ms: 9.1,
    },
    poll: {
      alone: { service_us: 1622, postgres_us: 3243 },
      crowded: { service_us: 762, postgres_us: 558 },
      crowd: 32,
      alone_ms: 9.2,
    },
    page: {
      alone: { service_us: 2745, postgres_us: 1634 },
      crowded: { service_us: 2623, postgres_us: 1530 },
      crowd: 32,
      alone_ms: 6.6,
    },
    report: {
      alone: { service_us: 1699, postgres_us: 2282 },
      crowded: { service_us: 766, postgres_us: 858 },
      crowd: 32,
      alone_ms: 4.9,
    },
    delivery: {
      alone: { service_us: 2404, postgres_us: 8043 },
      crowded: { service_us: 1105, postgres_us: 867 },
      crowd: 32,
      alone_ms: 30.3,
    },
  },
  idle: { service_us: 20000, postgres_us: 20000 },
  connections: 16,
  bytesASale: 3436,
  passingBytesASale: 1320,
  walBytesASale: 9526,
}
