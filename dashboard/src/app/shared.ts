// The page of a share link: one session, without the rest of the app.
export { default } from '../features/sessions/SharedPage.svelte'
