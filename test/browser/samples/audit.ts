import type { Samples } from './sample.ts'

const HOME = '/auditoria'

export const auditSamples: Samples = {
  [HOME]: async () => HOME,
  [`${HOME}/eventos/:revision`]: async () => `${HOME}/eventos/0`,
  [`${HOME}/pacote`]: async () => `${HOME}/pacote`,
  [`${HOME}/como-era`]: async () => `${HOME}/como-era`,
  [`${HOME}/registros/:kind/:id`]: async ({ company }) => `${HOME}/registros/company/${company.id}`,
}
