/**
 * What a view is: a station of the ribbon, or a panel beside it. Which of them the page offers, and the answer that one gives.
 *
 * @typedef {"detail"|"heads"|"compared_detail"|"prediction"|"compared"|"without_knockouts"|"as_trained"|"counts"|string} Need  or "role:<role>" of the open attention in the
 *   open layer, "tensor:<tap>", "weight:<parameter>", "explain:<question>": what `trace.role(role, layer)`, `trace.tensor(name)`,
 *   `trace.weight(name)` and `trace.explained` then have
 * @typedef {{set: (patch: Patch) => void,
 *   get: () => State, page: HTMLElement, say: HTMLElement, isLoading: () => boolean, models: any[], refusals: Map<string, string>,
 *   openModel: (name: string) => void, t: typeof t,
 *   learn: ReturnType<typeof createTraces>["learn"],
 *   predict: ReturnType<typeof createTraces>["prediction"],
 *   alternatives: ReturnType<typeof createTraces>["alternatives"],
 *   soon: (patches: Patch[]) => Promise<void>}} Actions  `say`: where the page says what is seen; `refusals`: why the server refused
 *   an edit, by its JSON; `soon`: fetch what the page will need after any of these changes
 * @typedef {string} Given  "attention": where the open head looks; "end": what comes out; "units": which units fire
 * @typedef {{draw(root: HTMLElement, trace: ModelTrace, state: State, actions: Actions): void}["draw"]} Draw  a method, so that a
 *   view's own may ask for the trace that its `needs` promise
 * @typedef {(root: HTMLElement, trace: HeadTrace, state: State, actions: Actions) => void} HeadDraw  of a view that needs "detail"
 * @typedef {(root: HTMLElement, trace: FetchedTrace, state: State, actions: Actions) => void} FetchedDraw  of one that needs tensors
 * @typedef {Object} View
 * @property {string} id  its word in the catalogue is `ribbon.<id>`
 * @property {Declared} [viewState]  see ../state/view_state.js
 * @property {Need[]|((state: State, model: Model) => Need[])} needs  `draw` is only called with a trace that has them
 * @property {(state: State, model: Model) => Need[]} [also]  it is drawn without these, and again when they are there
 * @property {string|((state: State, model: Model) => string|null)} [inspector]  what the inspector explains
 *   while it is open: a name of views/inspector/inspector.js; without one there is no inspector
 * @property {(state: State, model: Model) => string|undefined} [called]  what it shows, in the name of a file; by default its id
 * @property {(state: State, model: Model) => string} [within]  it has no tab in the ribbon: the station whose tab is lit while it is open
 * @property {boolean} [ofHead]  it shows the open head alone: its files and titles name that head
 * @property {Given|((state: State, model: Model) => Given|undefined)} [gives]  the answer that it shows, which the quiz
 *   covers until the reader has guessed
 * @property {boolean} [saysWhatLacks]  it is drawn without what a saved trace can never have, and says so itself: by `trace.lacks`
 * @property {(state: State) => boolean} [shown]  of a panel: whether its place is shown at all
 * @property {string[]} [roles]  that the open attention must have ("overview": whatever its pictures are drawn from)
 * @property {(model: Model, state?: any) => boolean} [has]  whether a model has this at all; by default every one
 * @property {Draw} draw  called again at every change: updates in place
 * @property {(state?: State, model?: Model) => Promise<unknown>} [load]  brings the code of `draw`, before it
 *   is called with this state, or with any (../data/lazily.js); code that is here already costs nothing
 * @typedef {{place: string, className: string, title?: string, tool?: ToolGroup, onPhone?: true, waits?: string, fails?: string, lacks?: string}} Frame  `tool`: the menu of tools opens it, under this heading; `onPhone`: only there; `waits`, `fails`: what is
 *   said in its place before it is first drawn; `lacks`: around why it cannot be drawn
 * @typedef {"cause"|"change"|"compare"} ToolGroup
 * @typedef {{id: string, title: string, patch: Patch, isOpen: (state: State) => boolean}} PanelTool  an entry in the menu of tools
 * @typedef {View & {frame: Frame, tools?: (model: Model) => PanelTool[]}} Panel  a view with its
 *   own place on the page ("dock", "home", "right", "below", "drawer" or "tools"), the classes of its element and, as a key of the catalogue, what it is called; with `shown` it starts hidden
 */

import { hasRoles } from "../model/taps.js";

/**
 * @import { FetchedTrace, HeadTrace, ModelTrace } from "../data/model_trace.js"
 * @import { createTraces } from "../data/traces.js"
 * @import { Model } from "../model/description.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Declared } from "../state/view_state.js"
 * @import { t } from "../ui/i18n.js"
 */

/**
 * Whether a model has a view. What it lacks is not drawn, and asks the server for nothing.
 * @param {View|Panel} view @param {Model} model @param {Pick<State, "attention"|"layer">} state
 */
export const hasView = (view, model, state) =>
  (view.has?.(model, state) ?? true) && hasRoles(view.roles ?? [], model, state);

/**
 * The answer that the open view shows.
 * @param {View[]} views @param {State} state @param {Model} model @returns {Given|undefined}
 */
export function givenBy(views, state, model) {
  const gives = views.find(({ id }) => id === state.view)?.gives;
  return typeof gives === "function" ? gives(state, model) : gives;
}
