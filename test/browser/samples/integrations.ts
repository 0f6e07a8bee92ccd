import { expect } from 'chai'
import type { TestPanel } from '../../support/browser.ts'
import type { Samples } from './sample.ts'

const HOME = '/integracoes'

/** Shared by the pages: the number of webhooks of a company is limited. */
async function webhookOf({ company }: TestPanel): Promise<number> {
  const [existing] = (await company.get('/webhooks')).body.data
  if (existing) return existing.id
  const registered = await company.post('/webhooks', {
    url: 'http://127.0.0.1:9/eventos/de/uma/loja/com/um/endereco/que/nao/cabe/em/uma/linha',
    events: ['basic'],
    description: 'Sistema de gestão',
  })
  expect(registered.status, registered.text).to.equal(201)
  const made = await company.post('/customers', { name: 'João' })
  expect(made.status, made.text).to.equal(201)
  return registered.body.data.id
}

async function deliveryOf(panel: TestPanel): Promise<string> {
  const webhook = await webhookOf(panel)
  const tested = await panel.company.post(`/webhooks/${webhook}/test`)
  expect(tested.status, tested.text).to.be.within(200, 299)
  const [delivery] = (await panel.company.get(`/webhooks/${webhook}/deliveries`)).body.data
  return `${HOME}/webhooks/${webhook}/entregas/${delivery.id}`
}

const keyOf = async ({ company }: TestPanel): Promise<number> => (await company.get('/me')).body.data.key.id

/** A refused request, since its page shows the most. */
async function callOf({ company }: TestPanel): Promise<string> {
  const refused = await company.post('/customers', { nome: 'João', customer_id: 7 })
  await company.get('/requests')
  return `${HOME}/chamadas/${refused.headers.get('x-request-id')}`
}

const webhookPages = ['', '/editar', '/passar', '/trocar-segredo', '/excluir', '/reenviar'].map((rest) => [
  `${HOME}/webhooks/:id${rest}`,
  async (panel: TestPanel) => `${HOME}/webhooks/${await webhookOf(panel)}${rest}`,
])

export const integrationSamples: Samples = {
  [HOME]: async (panel) => {
    await webhookOf(panel)
    return HOME
  },
  [`${HOME}/chaves/nova`]: async () => `${HOME}/chaves/nova`,
  [`${HOME}/agentes`]: async () => `${HOME}/agentes`,
  [`${HOME}/chaves/:id`]: async (panel) => `${HOME}/chaves/${await keyOf(panel)}`,
  [`${HOME}/chaves/:id/revogar`]: async (panel) => `${HOME}/chaves/${await keyOf(panel)}/revogar`,
  [`${HOME}/chamadas`]: async (panel) => {
    await callOf(panel)
    return `${HOME}/chamadas`
  },
  [`${HOME}/chamadas/:call`]: callOf,
  [`${HOME}/webhooks/novo`]: async () => `${HOME}/webhooks/novo`,
  [`${HOME}/webhooks/:id/entregas/:delivery`]: deliveryOf,
  ...Object.fromEntries(webhookPages),
}
