"""One seed by RecBole's NeuMF in a plain PyTorch training loop, one thread."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

BEGAN = time.perf_counter()

import numpy as np  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import torch  # noqa: E402
import yaml  # noqa: E402
from recbole.model.general_recommender.neumf import NeuMF  # noqa: E402


class Sizes:
    """What the model asks of a RecBole data set: how many users and items there are."""

    def __init__(self, onehot: dict[str, int]):
        self.onehot = onehot

    def num(self, field: str) -> int:
        return self.onehot[field]


def settings(model: dict) -> dict[str, object]:
    return {
        "USER_ID_FIELD": "user",
        "ITEM_ID_FIELD": "item",
        "LABEL_FIELD": "label",
        "NEG_PREFIX": "negative_",
        "device": torch.device("cpu"),
        "mf_embedding_size": model["factors"],
        "mlp_embedding_size": model["layers"][0] // 2,
        "mlp_hidden_size": list(model["layers"][1:]),
        "dropout_prob": model["dropout"],
        "mf_train": True,
        "mlp_train": True,
        "use_pretrain": False,
        "mf_pretrain_path": None,
        "mlp_pretrain_path": None,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    plan = yaml.safe_load(options.plan.read_text())
    model_block, training = plan["model"], plan["training"]
    spec = yaml.safe_load((options.data / "spec.yaml").read_text())
    splits = {name: pq.read_table(options.data / f"{name}.parquet") for name in ("train", "valid")}
    users, items = (torch.from_numpy(splits["train"][name].to_numpy().copy()).long() for name in ("user", "item"))
    known = torch.zeros(spec["onehot"]["user"], spec["onehot"]["item"], dtype=torch.bool)
    known[users, items] = True
    model = NeuMF(settings(model_block), Sizes(spec["onehot"]))
    adam = model_block["adam"]
    betas = adam.get("beta_1", 0.25), adam.get("beta_2", 0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=adam["learning_rate"], betas=betas)
    copies, batch = 1 + model_block["negatives"], training["global_batch"]
    began, examples = time.perf_counter(), 0
    for _ in range(training["epochs"]):
        order = torch.randperm(copies * len(users))
        lacking = -len(order) % batch
        order = torch.cat([order, order[:lacking]])
        examples += len(order)
        for which in order.split(batch):
            rows, positive = which // copies, which % copies == 0
            user = users[rows]
            item = torch.where(positive, items[rows], torch.randint(known.shape[1], (batch,)))
            bad = ~positive & known[user, item]
            while bad.any():
                item[bad] = torch.randint(known.shape[1], (int(bad.sum()),))
                bad &= known[user, item]
            optimizer.zero_grad()
            model.calculate_loss({"user": user, "item": item, "label": positive.float()}).backward()
            optimizer.step()
    seconds = time.perf_counter() - began
    model.eval()
    valid = splits["valid"]
    with torch.inference_mode():
        user, item = (torch.from_numpy(valid[name].to_numpy().copy()).long() for name in ("user", "item"))
        scores = model(user, item).numpy().astype(np.float64)

    from seedstudy.metrics import held_out_ranking

    labels, slates = valid[spec["label"]].to_numpy(), valid[spec["group"]].to_numpy()
    ranking = held_out_ranking(scores, labels, slates, 10)
    total = time.perf_counter() - BEGAN
    print(json.dumps({"hr10": ranking.hit_rate, "samples_per_second": examples / seconds, "seconds": total}))


if __name__ == "__main__":
    main()
