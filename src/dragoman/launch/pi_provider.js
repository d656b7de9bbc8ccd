// An extension for pi: a provider that is described, as JSON, in the environment.
export default function (pi) {
  pi.registerProvider("dragoman", JSON.parse(process.env.DRAGOMAN_PI_PROVIDER));
}
