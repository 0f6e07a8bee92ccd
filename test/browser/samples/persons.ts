import { expect } from 'chai'
import type { TestPanel } from '../../support/browser.ts'
import type { Samples } from './sample.ts'

const ADDRESS = {
  street: 'Rua das Laranjeiras',
  number: '120',
  complement: 'Fundos',
  district: 'Centro',
  city: 'São José dos Campos',
  state: 'SP',
  zip: '12210000',
}

const PERSON = {
  email: 'maria.albuquerque@example.com',
  phone: '12999990000',
  address: ADDRESS,
  notes: 'Prefere receber pela manhã.',
}

/** Paths of the pages, and of the API resources they show. */
const SIDES = [
  { path: '/clientes', resource: '/customers' },
  { path: '/fornecedores', resource: '/suppliers' },
] as const

let made = 0

async function makeOne({ company }: TestPanel, resource: string): Promise<number> {
  const name = `Maria da Conceição Albuquerque ${++made}`
  const reply = await company.post(resource, { ...PERSON, name, external_id: `pessoa-${made}` })
  expect(reply.status, reply.text).to.equal(201)
  return reply.body.data.id
}

export const personSamples: Samples = Object.fromEntries(
  SIDES.flatMap(({ path, resource }) => [
    [
      path,
      async (panel: TestPanel) => {
        await makeOne(panel, resource)
        return path
      },
    ],
    [`${path}/novo`, async () => `${path}/novo`],
    ...['', '/editar', '/excluir', '/esquecer'].map((rest) => [
      `${path}/:id${rest}`,
      async (panel: TestPanel) => `${path}/${await makeOne(panel, resource)}${rest}`,
    ]),
  ]),
)
